"""One order: what is to be compressed, how, and where it goes."""

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
    """Return the path from the root, so that a name is never taken for an option."""
    if not path or "\0" in path:
        raise ValueError("no path; name a file or a folder")
    return os.path.abspath(path)  # noqa: PTH100 - `..` is not to follow links


LONGEST_LANE: Final = 900  # bytes of the 1,000 that a name may have

Source = Annotated[File, AfterValidator(absolute)]  # the console offers to send one
Folder = Annotated[str, AfterValidator(absolute)]
Sound = Literal["encode", "keep", "remove"]
OnExists = Literal["rename", "overwrite", "skip", "wait"]


class Order(Struct, frozen=True, kw_only=True, dict=True):  # what is derived is kept
    """The parameters of the task, in one piece."""

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
        """The folder for the result."""
        return self.path.parent if self.folder is None else Path(absolute(self.folder))

    @property
    def amounts(self) -> Preset:
        return PRESETS[self.preset]


def lane_of(values: Mapping[str, Any]) -> str:
    """Name a lane that equal orders share and no others: they become one job.

    It is read by people: what is compressed, what was asked for that is not usual, where it is.
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
