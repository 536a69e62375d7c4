"""The settings of the extractor: from the environment, with defaults for a machine at home."""

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Final, Literal, Self

from msgspec import Struct

from fairlane import BadSetting

PREFIX: Final = "FAIRLANE_EXTRACT_"
MediaPolicy = Literal["keep", "remove"]
GIB: Final = 2**30


class Settings(Struct, frozen=True, kw_only=True):
    folder: Path
    database: str | None = None  # of the results and the queue; default: SQLite in the folder
    allow: tuple[str, ...] = ()  # private addresses that links may lead to
    files: tuple[Path, ...] = ()  # folders whose files clients of the site may name and read
    media: MediaPolicy = "keep"  # downloaded media after the end of the job
    largest_bytes: int = 4 * GIB  # of one download
    longest_seconds: float = 6 * 3600.0  # of one media
    request_seconds: float = 30.0
    stall_seconds: float = 1800.0
    recogniser_memory_bytes: int = 4 * GIB
    whisper_model: Path | None = None  # a model folder for faster-whisper
    sherpa_model: Path | None = None  # a model folder for sherpa-onnx

    @property
    def work_folder(self) -> Path:
        """The folder with a folder of temporary files for each running job."""
        return self.folder / "work"

    @property
    def media_folder(self) -> Path:
        return self.folder / "media"

    @property
    def uploads_folder(self) -> Path:
        return self.folder / "uploads"

    @classmethod
    def from_environment(
        cls, folder: Path | None = None, environment: Mapping[str, str] = os.environ
    ) -> Self:
        """Read `FAIRLANE_EXTRACT_…`; an explicit folder comes first."""
        known: dict[str, object] = {}
        for name in cls.__struct_fields__:
            text = environment.get(PREFIX + name.upper(), "").strip()
            if text:
                known[name] = _parsed(name, text)
        chosen = folder or known.pop("folder", None) or default_folder(environment)
        known["folder"] = Path(str(chosen)).expanduser().absolute()
        return cls(**known)  # type: ignore[arg-type]


def default_folder(environment: Mapping[str, str] = os.environ) -> Path:
    home = environment.get("XDG_DATA_HOME") or "~/.local/share"
    return Path(home).expanduser() / "fairlane-extract"


def _parsed(name: str, text: str) -> object:
    if name == "allow":
        return tuple(part.strip() for part in text.split(",") if part.strip())
    if name == "files":
        folders = (part.strip() for part in text.split(":"))
        return tuple(Path(part).expanduser().absolute() for part in folders if part)
    if name in ("folder", "whisper_model", "sherpa_model"):
        return Path(text).expanduser()
    if name == "media":
        if text not in ("keep", "remove"):
            raise BadSetting(f'{PREFIX}MEDIA is "{text}"; it must be keep or remove')
        return text
    if name == "database":
        return text
    try:
        number = float(text) if name.endswith("_seconds") else int(text)
    except ValueError:
        raise BadSetting(f'{PREFIX}{name.upper()} is "{text}"; it must be a number') from None
    if not 0 < number < 10**15:
        raise BadSetting(f"{PREFIX}{name.upper()} is {text}; it must be above 0")
    return number
