"""Videos, encoded by ffmpeg: quality or size, progress as ffmpeg tells it, SSIM where wanted."""

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
    known,
    look_at,
    problem,
    reading,
    surroundings,
    url,
)
from fairlane_compressor.ffmpeg_progress import FfmpegProgress
from fairlane_compressor.formats import FORMATS, Format
from fairlane_compressor.order import Order
from fairlane_compressor.sizes import counted

_SSIM: Final = re.compile(r"SSIM .*All:([\d.]+)")
_LEAST_KILOBITS: Final = 20  # below that there is nothing to be seen
_SHARE: Final = 0.94  # of a size that pictures and sound may take; the container has the rest
_MOST_TRIES: Final = 4  # to meet a size; each is nearer than the one before
_READ_SHARE: Final = 0.9  # of the length that a file claims; less of it means that it is damaged
_SCORE_SHARE: Final = 15.0  # percent of the progress, where a score is wanted

_HELD: Final = {  # which sounds a file may hold as they are
    ".mp4": {"aac", "mp3", "ac3", "eac3", "opus", "flac", "alac"},
    ".webm": {"opus", "vorbis"},
}
_TEXTS: Final = {"mov_text", "subrip", "ass", "ssa", "webvtt", "text"}  # the others are pictures
_SUBTITLES: Final = {".mp4": "mov_text", ".webm": "webvtt"}  # a .mkv holds any as it is
_DAMAGED: Final = re.compile(r"error .*decod", re.IGNORECASE)
_EXTRA: Final = {
    "libx264": ["-preset", "medium"],
    "libx265": ["-preset", "medium", "-tag:v", "hvc1", "-x265-params", "log-level=error"],
    "libsvtav1": ["-preset", "8"],
    "libaom-av1": ["-cpu-used", "6", "-row-mt", "1"],
    "libvpx-vp9": ["-deadline", "good", "-cpu-used", "4", "-row-mt", "1"],
}


class Work(Struct, frozen=True, kw_only=True):
    """One video on its way through ffmpeg."""

    order: Order
    clip: Clip
    ffmpeg: Ffmpeg
    format: Format
    encoder: str
    part: Path
    sound_kilobits: int  # of each of its sounds


async def encode(ctx: Context, order: Order, format: Format, part: Path) -> EncodeResult:
    """Write the video to `part`; raise what is wrong with it otherwise."""
    ffmpeg = await asyncio.to_thread(known)
    encoder = ffmpeg.encoder(FORMATS[format.name])
    clip = await look_at(ctx, ffmpeg, order.path)
    work = Work(
        order=order, clip=clip, ffmpeg=ffmpeg, format=format, encoder=encoder, part=part,
        sound_kilobits=_sound_kilobits(order, clip),
    )  # fmt: skip
    _check_sound(work)
    if order.target_bytes is None:
        said = await _run(ctx, work, _by_quality(work))
    else:
        said = await _meet(ctx, work, order.target_bytes)
    result = await look_at(ctx, ffmpeg, part)
    _check_length(work, result)
    score = await _score(ctx, work, result) if order.score else None
    return EncodeResult(
        format=format.name, width=result.width, height=result.height, score=score,
        note=_note(clip, result, said),
    )  # fmt: skip


def _note(clip: Clip, result: Clip, said: str) -> str:
    """Say what is not in the result."""
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
    """Encode to a size. What came out too large is made again with as much less."""
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
    """Say how much each sound may take: what the preset says, all a quarter of a size at most."""
    if not clip.sounds or order.sound == "remove":
        return 0
    usual = order.amounts.sound_kilobits
    if order.target_bytes is None or clip.seconds is None:
        return usual
    share = _kilobits(order.target_bytes, clip.seconds) / 4 / len(clip.sounds)
    return min(usual, max(_LEAST_KILOBITS, int(share)))


async def _run(ctx: Context, work: Work, amount: list[str], *, prefix: str = "") -> str:
    """Return what ffmpeg complained of."""
    share = 100 - _SCORE_SHARE if work.order.score else 100.0
    pace = FfmpegProgress(ctx, seconds=work.clip.seconds, share=share, prefix=prefix)
    done = await ctx.run(
        [work.ffmpeg.program, *_arguments(work, amount)],
        on_stdout=pace.line,
        env=surroundings(),
        check=False,
        grace_seconds=0,  # what it has made is thrown away
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
    arguments += ["-progress", "pipe:1", "-stats_period", "0.25", *reading(work.order.path)]
    arguments += ["-map", "0:V:0", *_sound(work), *_subtitles(work)]
    arguments += ["-vf", _picture(work), "-c:v", work.encoder, *_EXTRA.get(work.encoder, [])]
    arguments += amount
    if work.part.suffix == ".mp4":
        arguments += ["-movflags", "+faststart"]  # plays while it is still being loaded
    return [*arguments, url(work.part)]


def _picture(work: Work) -> str:
    """Never enlarge, keep the shape, and make both sides even, as most encoders want them."""
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
    """Refuse a result that is much shorter than its source claims to be: that was damaged."""
    wanted, made = work.clip.seconds, result.seconds
    if wanted is not None and wanted > 1 and (made or 0) < _READ_SHARE * wanted - 0.5:
        raise corrupt(work.order.path, f"only {made or 0:.1f} of its {wanted:.1f} s could be read")


async def _score(ctx: Context, work: Work, result: Clip) -> float | None:
    """Compare what was made with its source, picture by picture, at the size of the source.

    ffmpeg could find that size by itself (scale2ref), but in version 7.0 it sometimes compares
    nothing then.
    """
    pace = FfmpegProgress(
        ctx,
        seconds=work.clip.seconds,
        start=100 - _SCORE_SHARE,
        share=_SCORE_SHARE,
        prefix="comparing, ",
    )
    width, height = work.clip.width, work.clip.height
    if (width > height) != (result.width > result.height):  # it was turned, as phones want it
        width, height = height, width
    same = f"scale={width}:{height},format=yuv420p"
    graph = f"[0:V]{same}[a];[1:V]{same}[b];[a][b]ssim"
    compared = await ctx.run(
        [work.ffmpeg.program, "-hide_banner", "-nostats", "-progress", "pipe:1",
         *reading(work.part), *reading(work.order.path), "-lavfi", graph, "-an", "-f", "null",
         "-"],
        on_stdout=pace.line, env=surroundings(), check=False, grace_seconds=0,
    )  # fmt: skip
    found = _SSIM.search(compared.stderr_tail)
    return round(float(found[1]), 4) if found else None
