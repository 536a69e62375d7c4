"""Put downloaded streams into one file that browsers play, without encoding them again."""

import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Final

import imageio_ffmpeg

from fairlane_extractor.child_side import ChildError
from fairlane_extractor.sources.containers import CONTAINERS

TARGETS: Final = (".mp4", ".mkv")


def ffmpeg_path() -> str:
    """Return the ffmpeg of the PATH, or the one of the package imageio-ffmpeg."""
    return shutil.which("ffmpeg") or str(imageio_ffmpeg.get_ffmpeg_exe())


def join_streams(parts: Sequence[Path], folder: Path, name: str) -> Path:
    """Copy the first picture and the first sound of the parts into one file, and remove them."""
    trouble = ""
    for suffix in TARGETS:
        draft = folder / f"draft{suffix}"
        finished = subprocess.run(  # noqa: S603 - fixed arguments, and paths of this program
            _arguments(parts, draft), stdin=subprocess.DEVNULL, capture_output=True, check=False
        )
        if finished.returncode == 0 and draft.stat().st_size:
            final = folder / f"{name}{suffix}"
            draft.replace(final)
            for part in parts:
                part.unlink(missing_ok=True)
            return final
        draft.unlink(missing_ok=True)
        trouble = finished.stderr.decode(errors="replace").strip()[-300:]
    raise ChildError("corrupt_media", f"ffmpeg cannot read the downloaded media: {trouble}")


def _arguments(parts: Sequence[Path], target: Path) -> list[str]:
    """Return the call of ffmpeg; a part that is a playlist, and names other files, is refused."""
    inputs: list[str] = []
    for part in parts:
        inputs += [
            "-protocol_whitelist", "file", "-format_whitelist", CONTAINERS, "-i", f"file:{part}",
        ]  # fmt: skip
    maps = ["-map", "0:v:0?", "-map", f"{len(parts) - 1}:a:0?"]
    return [
        ffmpeg_path(), "-nostdin", "-v", "error", "-y", *inputs, *maps, "-c", "copy", "-dn",
        "-movflags", "+faststart", f"file:{target}",
    ]  # fmt: skip
