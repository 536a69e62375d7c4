"""One order: the source, the options, and the target folder."""

import hashlib
import os
from collections.abc import Mapping
from functools import cached_property
from pathlib import Path
from typing import Annotated, Any, Final, Literal, Self

import msgspec
from msgspec import Struct
from pydantic import AfterValidator

from fairlane import File
from fairlane_compressor.presets import PRESETS, Preset


def absolute(path: str) -> str:
    """Return the absolute path, so that a name is never taken for an option."""
    if not path or "\0" in path:
        raise ValueError("no path; name a file or a folder")
    return os.path.abspath(path)  # noqa: PTH100 - `..` is not to follow links


LONGEST_LANE: Final = 900  # in bytes; a name may have 1,000

Source = Annotated[File, AfterValidator(absolute)]  # the console offers an upload for it
Folder = Annotated[str, AfterValidator(absolute)]
Sound = Literal["encode", "keep", "remove"]
OnExists = Literal["rename", "overwrite", "skip", "wait"]


class Order(Struct, frozen=True, kw_only=True, dict=True):  # dict: cached properties
    """The parameters of the task as one value."""

    source: str
    preset: str = "balanced"
    format: str = "auto"
    quality: int | None = None
    target_bytes: int | None = None
    sound: str = "encode"
    folder: str | None = None
    on_exists: str = "rename"
    score: bool = False

    @classmethod
    def of(cls, values: Mapping[str, Any]) -> Self:
        return cls(**{name: values[name] for name in cls.__struct_fields__ if name in values})

    @cached_property
    def path(self) -> Path:
        return Path(absolute(self.source))

    @cached_property
    def place(self) -> Path:
        """Return the folder for the result."""
        return self.path.parent if self.folder is None else Path(absolute(self.folder))

    @property
    def amounts(self) -> Preset:
        return PRESETS[self.preset]


def lane_of(values: Mapping[str, Any]) -> str:
    """Return the lane of an order; equal orders share one lane and so become one job.

    The name is readable: the file, its non-default options, and its folder.
    """
    order = Order.of(values)
    usual = Order(source=order.source)
    wishes = [
        f"{name} {value}"
        for name, value in msgspec.structs.asdict(order).items()
        if value != getattr(usual, name)
    ]
    text = f"{', '.join([order.path.name, *wishes])} in {order.path.parent}"
    if len(text.encode(errors="replace")) <= LONGEST_LANE:
        return text
    digest = hashlib.blake2b(msgspec.json.encode(order), digest_size=6).hexdigest()
    return f"{order.path.name[:100]} {digest}"
