"""The settings of the operator, as opposed to the filters of a row."""

import os
from collections.abc import Mapping
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any, Final

from fairlane import BadSetting

PREFIX: Final = "FAIRLANE_ARCHIVE_"
GIB: Final = 1024**3
_AT_LEAST_ONE: Final = ("at_once", "tries", "largest_bytes")


@dataclass(frozen=True, kw_only=True)
class Settings:
    """The settings; `largest_bytes` is set by FAIRLANE_ARCHIVE_LARGEST_BYTES, and so on."""

    folder: Path
    allow: tuple[str, ...] = ()  # allowed private addresses: host, host:port or network
    at_once: int = 4  # parallel downloads of one account
    largest_bytes: int = 4 * GIB  # of one file
    spare_bytes: int = GIB // 4  # reserve on the disk
    stall_seconds: float = 30.0  # without a received byte
    longest_seconds: float = 6 * 3600.0  # for one file, all tries together
    tries: int = 4
    first_wait_seconds: float = 1.0  # after the first failed try; doubled after each
    longest_wait_seconds: float = 900.0  # longest pause of a running account on request of a server

    def __post_init__(self) -> None:
        for name in _AT_LEAST_ONE:
            if getattr(self, name) < 1:
                raise BadSetting(f"{name} is {getattr(self, name)}; it must be at least 1")

    @classmethod
    def from_environment(
        cls, folder: Path | None = None, *, environment: Mapping[str, str] | None = None
    ) -> "Settings":
        """Read the settings from the environment; `folder` takes precedence."""
        known = os.environ if environment is None else environment
        values: dict[str, Any] = {}
        for field in fields(cls):
            text = known.get(PREFIX + field.name.upper())
            if text:
                values[field.name] = _read(field.name, text)
        if folder is not None:
            values["folder"] = folder
        values.setdefault("folder", default_folder(known))
        return cls(**values)


def default_folder(environment: Mapping[str, str]) -> Path:
    """Where data of a user's programs goes, by the rules of freedesktop.org."""
    data = environment.get("XDG_DATA_HOME", "")
    base = Path(data) if Path(data).is_absolute() else Path.home() / ".local" / "share"
    return base / "fairlane-archive"


def _read(name: str, text: str) -> Any:
    if name == "folder":
        return Path(text)
    if name == "allow":
        return tuple(entry.strip() for entry in text.split(",") if entry.strip())
    number = float if name.endswith("_seconds") else int
    try:
        value = number(text)
    except ValueError:
        value = number(-1)
    least = 1 if name in _AT_LEAST_ONE else 0
    if not value >= least:  # nor is it no number at all, as NaN
        raise BadSetting(
            f"{PREFIX}{name.upper()} is {text!r}; it must be a number, {least} or more"
        ) from None
    return value
