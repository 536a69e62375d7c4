"""Encode videos with ffmpeg: by quality or size, with progress and optional SSIM."""

import asyncio
import re
from pathlib import Path
from typing import Final

from msgspec import Struct

from fairlane import Context, Permanent
from fairlane_compressor.encode_result import EncodeResult
from fairlane_compressor.errors import corrupt
from fairlane_compressor.ffmpeg import (
    Clip,
    Ffmpeg,
    ffmpeg_environment,
    input_arguments,
    installed_ffmpeg,
    probe,
    problem,
    url,
)
from fairlane_compressor.ffmpeg_progress import FfmpegProgress
from fairlane_compressor.formats import FORMATS, Format
from fairlane_compressor.order import Order
from fairlane_compressor.sizes import counted

_SSIM: Final = re.compile(r"SSIM .*All:([\d.]+)")
_LEAST_KILOBITS: Final = 20  # below that a video is unwatchable
_SHARE: Final = 0.94  # share of a size for pictures and sound; the container takes the rest
_MOST_TRIES: Final = 4  # to meet a size; each try is closer
_READ_SHARE: Final = 0.9  # of the stated length; a shorter result means a damaged source
_SCORE_SHARE: Final = 15.0  # percent of the progress for the score

_HELD: Final = {  # audio codecs that a container accepts unchanged
    ".mp4": {"aac", "mp3", "ac3", "eac3", "opus", "flac", "alac"},
    ".webm": {"opus", "vorbis"},
}
# Other subtitles are pictures.
_TEXTS: Final = {"mov_text", "subrip", "ass", "ssa", "webvtt", "text"}
_SUBTITLES: Final = {".mp4": "mov_text", ".webm": "webvtt"}  # .mkv accepts any
_DAMAGED: Final = re.compile(r"error .*decod", re.IGNORECASE)
_EXTRA: Final = {
    "libx264": ["-preset", "medium"],
    "libx265": ["-preset", "medium", "-tag:v", "hvc1", "-x265-params", "log-level=error"],
    "libsvtav1": ["-preset", "8"],
    "libaom-av1": ["-cpu-used", "6", "-row-mt", "1"],
    "libvpx-vp9": ["-deadline", "good", "-cpu-used", "4", "-row-mt", "1"],
}


class Work(Struct, frozen=True, kw_only=True):
    """One video to encode."""

    order: Order
    clip: Clip
    ffmpeg: Ffmpeg
    format: Format
    encoder: str
    part: Path
    sound_kilobits: int  # per audio stream


async def encode(ctx: Context, order: Order, format: Format, part: Path) -> EncodeResult:
    """Write the video to `part`; raise if it cannot be encoded."""
    ffmpeg = await asyncio.to_thread(installed_ffmpeg)
    clip = await probe(ctx, ffmpeg, order.path)
    encoder = ffmpeg.encoder(FORMATS[format.name], min(clip.width, clip.height))
    work = Work(
        order=order, clip=clip, ffmpeg=ffmpeg, format=format, encoder=encoder, part=part,
        sound_kilobits=_sound_kilobits(order, clip),
    )  # fmt: skip
    _check_sound(work)
    if order.target_bytes is None:
        said = await _run(ctx, work, _by_quality(work))
    else:
        said = await _meet(ctx, work, order.target_bytes)
    result = await probe(ctx, ffmpeg, part)
    _check_length(work, result)
    score = await _score(ctx, work, result) if order.score else None
    return EncodeResult(
        format=format.name, width=result.width, height=result.height, score=score,
        note=_note(clip, result, said),
    )  # fmt: skip


def _note(clip: Clip, result: Clip, said: str) -> str:
    """Return a note about parts that the result lacks."""
    notes = []
    if (dropped := len(clip.subtitles) - len(result.subtitles)) > 0:
        notes.append(f"without {counted(dropped, 'subtitle')} that only a .mkv can hold")
    if _DAMAGED.search(said):
        notes.append("the original is damaged: look at the result before you rely on it")
    return "; ".join(notes)


def _by_quality(work: Work) -> list[str]:
    quality = work.order.quality or work.order.amounts.video_quality
    match work.encoder:
        case "libx264":
            return ["-crf", f"{51 - 0.36 * quality:.1f}"]
        case "libx265":
            return ["-crf", f"{min(51.0, 55 - 0.36 * quality):.1f}"]
        case "libvpx-vp9" | "libaom-av1":
            return ["-crf", f"{63 - 0.4 * quality:.0f}", "-b:v", "0"]
        case _:
            return ["-crf", f"{63 - 0.4 * quality:.0f}"]


async def _meet(ctx: Context, work: Work, wanted: int) -> str:
    """Encode to a size. A result that is too large is encoded again with a lower bitrate."""
    seconds = work.clip.seconds
    if seconds is None:
        raise Permanent(
            f"{work.order.path} does not say how long it is, so no size can be aimed at; choose a "
            "quality or a preset",
            code="bad_target",
        )
    sounds_kilobits = work.sound_kilobits * len(work.clip.sounds)
    kilobits = _SHARE * _kilobits(wanted, seconds) - sounds_kilobits
    if kilobits < _LEAST_KILOBITS:
        least = (_LEAST_KILOBITS + sounds_kilobits) * seconds * 125 / _SHARE
        raise Permanent(
            f"{wanted:,} bytes are too few for {seconds:.0f} s of video: at least {least:,.0f} are "
            "needed",
            code="bad_target",
        )
    for number in range(1, _MOST_TRIES + 1):
        rate = f"{kilobits:.0f}k"
        limits = [
            "-b:v",
            rate,
            "-maxrate",
            f"{1.5 * kilobits:.0f}k",
            "-bufsize",
            f"{kilobits:.0f}k",
        ]
        limits = ["-b:v", rate] if work.encoder == "libsvtav1" else limits
        said = await _run(ctx, work, limits, prefix="" if number == 1 else f"try {number}, ")
        made = work.part.stat().st_size
        if made <= wanted:
            return said
        kilobits = max(1.0, kilobits * 0.97 * wanted / made)
    raise Permanent(
        f"{work.order.path} cannot be made as small as {wanted:,} bytes; {made:,} was the "
        "smallest: take a smaller preset, which has fewer lines",
        code="bad_target",
    )


def _kilobits(size: int, seconds: float) -> float:
    return size * 8 / 1000 / seconds


def _sound_kilobits(order: Order, clip: Clip) -> int:
    """Return the bitrate per audio stream: that of the preset, all at most a quarter of a size."""
    if not clip.sounds or order.sound == "remove":
        return 0
    usual = order.amounts.sound_kilobits
    if order.target_bytes is None or clip.seconds is None:
        return usual
    share = _kilobits(order.target_bytes, clip.seconds) / 4 / len(clip.sounds)
    return min(usual, max(_LEAST_KILOBITS, int(share)))


async def _run(ctx: Context, work: Work, amount: list[str], *, prefix: str = "") -> str:
    """Run ffmpeg and return its complaints."""
    share = 100 - _SCORE_SHARE if work.order.score else 100.0
    pace = FfmpegProgress(ctx, seconds=work.clip.seconds, share=share, prefix=prefix)
    done = await ctx.run(
        [work.ffmpeg.program, *_arguments(work, amount)],
        on_stdout=pace.line,
        env=ffmpeg_environment(),
        check=False,
        grace_seconds=0,  # its output is discarded
    )
    if done.returncode != 0:
        raise problem(
            done.stderr_tail,
            source=work.order.path,
            part=work.part,
            returncode=done.returncode,
        )
    return done.stderr_tail


def _arguments(work: Work, amount: list[str]) -> list[str]:
    arguments = ["-hide_banner", "-nostats", "-loglevel", "error", "-y"]
    arguments += ["-progress", "pipe:1", "-stats_period", "0.25", *input_arguments(work.order.path)]
    arguments += ["-map", "0:V:0", *_sound(work), *_subtitles(work)]
    arguments += ["-vf", _picture(work), "-c:v", work.encoder, *_EXTRA.get(work.encoder, [])]
    arguments += amount
    if work.part.suffix == ".mp4":
        arguments += ["-movflags", "+faststart"]  # playable during download
    return [*arguments, url(work.part)]


def _picture(work: Work) -> str:
    """Return filters that never enlarge, keep the aspect ratio, and make both sides even for
    encoders."""
    lines = work.order.amounts.video_lines
    factor = "1" if lines is None else f"min(1,{lines}/min(iw,ih))"
    depth = "yuv420p" if work.format.name == "h264" else "yuv420p|yuv420p10le"
    size = f"scale=w='2*trunc(iw*{factor}/2)':h='2*trunc(ih*{factor}/2)'"
    return f"{size},format={depth}"


def _sound(work: Work) -> list[str]:
    match work.order.sound:
        case "remove":
            return ["-an"]
        case "keep":
            return ["-map", "0:a?", "-c:a", "copy"]
        case _:
            rate = f"{work.sound_kilobits}k"
            return ["-map", "0:a?", "-c:a", work.format.sound, "-b:a", rate]


def _check_sound(work: Work) -> None:
    if work.order.sound != "keep":
        return
    held = _HELD.get(work.part.suffix)
    odd = [sound for sound in work.clip.sounds if held is not None and sound not in held]
    if odd:
        raise Permanent(
            f"the sound of {work.order.path} is {odd[0]}, which a {work.part.suffix} file cannot "
            "hold as it is; choose to encode it",
            code="bad_sound",
        )


def _subtitles(work: Work) -> list[str]:
    if work.part.suffix == ".mkv":
        return ["-map", "0:s?", "-c:s", "copy"]
    texts = [number for number, name in enumerate(work.clip.subtitles) if name in _TEXTS]
    maps = [word for number in texts for word in ("-map", f"0:s:{number}")]
    return [*maps, "-c:s", _SUBTITLES[work.part.suffix]] if maps else []


def _check_length(work: Work, result: Clip) -> None:
    """Refuse a result that is much shorter than its source states: the source is damaged."""
    wanted, made = work.clip.seconds, result.seconds
    if wanted is not None and wanted > 1 and (made or 0) < _READ_SHARE * wanted - 0.5:
        raise corrupt(work.order.path, f"only {made or 0:.1f} of its {wanted:.1f} s could be read")


async def _score(ctx: Context, work: Work, result: Clip) -> float | None:
    """Compare the result with its source, frame by frame, at the size of the source.

    ffmpeg could find that size itself (scale2ref), but version 7.0 sometimes compares no frames
    then.
    """
    pace = FfmpegProgress(
        ctx,
        seconds=work.clip.seconds,
        start=100 - _SCORE_SHARE,
        share=_SCORE_SHARE,
        prefix="comparing, ",
    )
    width, height = work.clip.width, work.clip.height
    if (width > height) != (result.width > result.height):  # rotated, as phones store it
        width, height = height, width
    same = f"scale={width}:{height},format=yuv420p"
    graph = f"[0:V]{same}[a];[1:V]{same}[b];[a][b]ssim"
    compared = await ctx.run(
        [work.ffmpeg.program, "-hide_banner", "-nostats", "-progress", "pipe:1",
         *input_arguments(work.part), *input_arguments(work.order.path), "-lavfi", graph, "-an",
         "-f", "null", "-"],
        on_stdout=pace.line, env=ffmpeg_environment(), check=False, grace_seconds=0,
    )  # fmt: skip
    found = _SSIM.search(compared.stderr_tail)
    return round(float(found[1]), 4) if found else None
