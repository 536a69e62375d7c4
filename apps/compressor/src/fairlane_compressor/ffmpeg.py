"""The ffmpeg of this machine: its path, its encoders, and its description of a file.

Files are untrusted, so only containers are opened that hold their own contents: a playlist could
name other files. Files are parsed only in child processes.
"""

import os
import re
import shutil
import signal
import subprocess
from functools import lru_cache
from pathlib import Path
from typing import Final

from msgspec import Struct

from fairlane import Context, Permanent, Retryable
from fairlane_compressor.errors import DiskFull, corrupt, encoding_failed
from fairlane_compressor.file_kinds import Kind
from fairlane_compressor.formats import FORMATS, Format

_CONTAINERS: Final = (
    "mov,mp4,m4a,3gp,3g2,mj2,matroska,webm,avi,flv,asf,ogg,mpegts,mpeg,mpegvideo,m4v,h264,hevc,ivf"
)
_PASSING: Final = (
    ("Permission denied", "permission"),
    ("Input/output error", "io"),
    ("Resource temporarily", "busy"),
    ("Cannot allocate memory", "memory"),
)
_CRASHES: Final = (signal.SIGSEGV, signal.SIGABRT, signal.SIGILL, signal.SIGFPE)
_ENCODER: Final = re.compile(r"^ [VA][.A-Z]{5} (\S+)", re.MULTILINE)
# Matched at the start of a line: untrusted titles and comments are indented further.
_DURATION: Final = re.compile(r"^  Duration: (\d+):(\d+):(\d+\.?\d*)", re.MULTILINE)
_STREAM: Final = r"^ {2,4}Stream #0:\S+: "
_VIDEO: Final = re.compile(_STREAM + r"Video: (\w+).*?[ ,](\d{2,5})x(\d{2,5})", re.MULTILINE)
_SOUND: Final = re.compile(_STREAM + r"Audio: (\w+)", re.MULTILINE)
_SUBTITLES: Final = re.compile(_STREAM + r"Subtitle: (\w+)", re.MULTILINE)
_DETAIL: Final = re.compile(r"^ .*$", re.MULTILINE)
_LEAST_SIDES: Final = {"libsvtav1": 64}  # in pixels; older releases refuse smaller videos
_ANSWER_SECONDS: Final = 30
_DESCRIPTION_BYTES: Final = 1 << 20  # a film has many chapters with titles


class Ffmpeg(Struct, frozen=True):
    program: str
    version: str
    encoders: frozenset[str]

    def encoder(self, format: Format, side: int) -> str:
        """Return the encoder of a format for videos whose shorter side has so many pixels.

        Raise with the available formats if it is missing.
        """
        there = [name for name in format.encoders if name in self.encoders]
        fitting = [name for name in there if side >= _LEAST_SIDES.get(name, 0)]
        for name in (*fitting, *there):
            return name
        makes = ", ".join(known.name for known in self.formats()) or "none at all"
        raise Permanent(
            f"this ffmpeg has no encoder for {format.name} ({' or '.join(format.encoders)} is "
            f"missing; it can make {makes}); choose one of those or install another ffmpeg "
            f"({self.program}, {self.version})",
            code="missing_codec",
        )

    def formats(self) -> list[Format]:
        videos = [format for format in FORMATS.values() if format.kind is Kind.VIDEO]
        return [format for format in videos if not self.encoders.isdisjoint(format.encoders)]


class Clip(Struct, frozen=True, kw_only=True):
    """The properties of a video by ffmpeg."""

    seconds: float | None
    codec: str
    width: int
    height: int
    sounds: tuple[str, ...]
    subtitles: tuple[str, ...]


def find() -> str:
    """Return the path of ffmpeg: from FFMPEG, the PATH, or the wheel."""
    named = os.environ.get("FFMPEG")
    if named:
        found = shutil.which(named)
        if found is None:
            raise Permanent(f"FFMPEG is {named!r}, which is no program", code="missing_program")
        return found
    on_path = shutil.which("ffmpeg")
    if on_path is not None:
        return on_path
    try:
        import imageio_ffmpeg  # type: ignore[import-untyped, unused-ignore]

        return str(imageio_ffmpeg.get_ffmpeg_exe())
    except (ImportError, RuntimeError):
        raise Permanent(
            "videos need ffmpeg and there is none: install it, set FFMPEG to where it is, or "
            "pip install imageio-ffmpeg",
            code="missing_program",
        ) from None


def installed_ffmpeg() -> Ffmpeg:
    """Return the ffmpeg of this machine; it is queried once per program, and blocks."""
    return _asked(find())


@lru_cache(maxsize=8)
def _asked(program: str) -> Ffmpeg:
    listed, told = _answer(program, "-hide_banner", "-encoders"), _answer(program, "-version")
    if listed.returncode or told.returncode:  # an error is not cached
        raise Retryable(
            f"{program} could not say what it can do: it ended with {listed.returncode}; the "
            "memory may have run out, or it is damaged",
            code="encoder_failed",
        )
    version = " ".join(told.stdout.split()[:3])
    return Ffmpeg(program, version, frozenset(_ENCODER.findall(listed.stdout)))


def _answer(*argv: str) -> subprocess.CompletedProcess[str]:
    try:
        return subprocess.run(  # noqa: S603 - the program the user has
            argv,
            stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False,
            timeout=_ANSWER_SECONDS,
        )  # fmt: skip
    except OSError as error:
        raise Permanent(
            f"{argv[0]} cannot be started: {os.strerror(error.errno or 0).lower()}; install ffmpeg "
            "anew, or set FFMPEG to one that works",
            code="missing_program",
        ) from None
    except subprocess.TimeoutExpired:
        raise Retryable(
            f"{argv[0]} did not say within {_ANSWER_SECONDS} s what it can do",
            code="encoder_failed",
        ) from None


def ffmpeg_environment() -> dict[str, str]:
    """Return the environment for ffmpeg.

    The bundled ffmpeg contains its own C library, and crashes when that loads the character
    converters of the system, which every transport stream requires. With this variable it finds
    none.
    """
    return {"GCONV_PATH": os.devnull, **os.environ}


def input_arguments(path: Path) -> list[str]:
    """Return the arguments that read a file safely, independent of its name and contents."""
    return ["-protocol_whitelist", "file", "-format_whitelist", _CONTAINERS, "-i", url(path)]


def url(path: Path) -> str:
    return f"file:{path}"


async def probe(ctx: Context, ffmpeg: Ffmpeg, path: Path) -> Clip:
    """Query ffmpeg for the properties of a file; raise if it is not a video."""
    said = await ctx.run(
        [ffmpeg.program, "-hide_banner", *input_arguments(path)],
        env=ffmpeg_environment(),
        check=False,
        grace_seconds=0,
        tail_bytes=_DESCRIPTION_BYTES,
    )
    text = said.stderr_tail.replace(str(path), "")  # the untrusted file name is removed
    video = _VIDEO.search(text)
    if video is None:
        raise problem(text, source=path, part=path, returncode=said.returncode)
    length = _DURATION.search(text)
    seconds = None
    if length is not None:
        seconds = int(length[1]) * 3600 + int(length[2]) * 60 + float(length[3])
    return Clip(
        seconds=seconds or None, codec=video[1], width=int(video[2]), height=int(video[3]),
        sounds=tuple(_SOUND.findall(text)), subtitles=tuple(_SUBTITLES.findall(text)),
    )  # fmt: skip


def problem(said: str, *, source: Path, part: Path, returncode: int) -> Permanent | Retryable:
    """Return the error for a failed ffmpeg run; names and titles in its output are ignored."""
    named = said.replace(str(source), "").replace(str(part), "")
    text = _DETAIL.sub("", named)
    if "No space left on device" in text or "Disk quota exceeded" in text:
        return DiskFull(part.parent)
    if -returncode in _CRASHES:
        return Permanent(
            f"ffmpeg crashed at {source} (signal {-returncode}): it may be damaged, or need "
            "another ffmpeg (set FFMPEG)",
            code="encoder_crashed",
        )
    if returncode < 0:
        return Retryable(
            f"ffmpeg was ended from outside by signal {-returncode}; the memory may have run out",
            code="encoder_killed",
        )
    for passing, code in _PASSING:
        if passing in text:
            return Retryable(f"ffmpeg could not read {source} or write: {passing}", code=code)
    if "Input #0" in text:  # ffmpeg could open the file
        return corrupt(source, "there are no moving pictures in it")
    if "Invalid data found" in text or "moov atom not found" in text:
        return corrupt(source, "it is damaged, not complete, or no video at all")
    if "not on whitelist" in text or "Format not on whitelist" in text:
        return corrupt(source, "it is no video, or a list that names other files")
    lines = [line for line in text.splitlines() if line.strip()]
    return encoding_failed(
        source, " / ".join(lines[-2:])[-400:] or f"ffmpeg ended with {returncode}"
    )
