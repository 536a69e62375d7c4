"""Generated clips and pictures, and an ffmpeg that misbehaves on demand."""

import os
import signal
import subprocess
from pathlib import Path

from PIL import Image

from fairlane_compressor import ffmpeg
from tests.support.eventually import eventually

_SCRIPT = """#!/bin/sh
case "$*" in
*-progress*)
    moods=$(ls "{folder}")  # as they are before anybody hears of this start and changes them
    echo $$ >>"{folder}/encoding"
    case "$moods" in *broken*) echo "Input/output error" >&2; exit 1 ;; esac
    case "$moods" in *crashing*) kill -SEGV $$ ;; esac
    case "$moods" in *held*) kill -STOP $$ ;; esac
    case "$moods" in *slow*) exec "{real}" -readrate 1 "$@" ;; esac ;;
*-encoders*)
    if [ -e "{folder}/ill" ]; then rm "{folder}/ill"; exit 1; fi
    if [ -e "{folder}/poor" ]; then "{real}" "$@" | grep -v libx265; exit 0; fi ;;
esac
exec "{real}" "$@"
"""


def clip(
    path: Path, *, seconds: float = 1, size: str = "160x120", sound: bool = True, title: str = ""
) -> Path:
    """Create a clip that compresses well."""
    argv = [ffmpeg.find(), "-v", "error", "-f", "lavfi", "-i", f"testsrc2=s={size}:d={seconds}"]
    if sound:
        argv += ["-f", "lavfi", "-i", f"sine=d={seconds}", "-c:a", "aac"]
    argv += ["-c:v", "libx264", "-preset", "ultrafast", "-crf", "1", "-metadata", f"title={title}"]
    argv += ["-y", f"file:{path}"]
    subprocess.run(argv, check=True, stdin=subprocess.DEVNULL)
    return path


def photo(path: Path, *, size: tuple[int, int] = (320, 240), quality: int = 95) -> Path:
    """Create a picture with as much detail as a photograph."""
    small = (max(1, size[0] // 4), max(1, size[1] // 4))
    noise = Image.effect_noise(small, 90).resize(size, Image.Resampling.BICUBIC)
    image = Image.merge("RGB", [noise, noise.rotate(90).resize(size), noise.rotate(180)])
    options = {"quality": quality} if path.suffix in (".jpg", ".webp", ".avif") else {}
    image.save(path, **options)  # type: ignore[arg-type]
    return path


class FakeFfmpeg:
    """A private ffmpeg for a test: the real one behind a script that obeys files."""

    def __init__(self, folder: Path) -> None:
        folder.mkdir()
        self.folder = folder
        self.program = folder / "ffmpeg"
        self.program.write_text(_SCRIPT.format(folder=folder, real=ffmpeg.find()))
        self.program.chmod(0o755)

    def be(self, mood: str) -> None:
        """Behave as `broken`, `crashing`, `held`, `slow` or `poor` from now on, or `ill` once."""
        (self.folder / mood).touch()

    def be_well(self) -> None:
        for mood in ("broken", "crashing", "held", "slow", "poor"):
            (self.folder / mood).unlink(missing_ok=True)

    @property
    def started(self) -> list[int]:
        """Return the process ids of all encodes so far."""
        noted = self.folder / "encoding"
        return [int(line) for line in noted.read_text().split()] if noted.exists() else []

    async def has_started(self, times: int = 1) -> int:
        await eventually(lambda: len(self.started) >= times, what="an encode")
        return self.started[times - 1]

    async def go_on(self, number: int = -1) -> None:
        """Release an encode that is held."""
        pid = self.started[number]
        await eventually(lambda: state_of(pid) == "T", what="an encode that is held")
        os.kill(pid, signal.SIGCONT)

    def is_running(self) -> bool:
        return any(state_of(pid) not in ("", "Z") for pid in self.started)


def state_of(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return ""


def tidy(folder: Path) -> list[str]:
    """Return the names of all files in a folder, including leftovers."""
    return sorted(path.name for path in folder.iterdir())


def started(argv: list[str]) -> subprocess.Popen[bytes]:
    return subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
