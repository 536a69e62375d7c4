"""The extractor on clips whose text is known: the share that it finds, and the time it takes.

Clips are generated: voices of flite, captions drawn on frames, subtitle tracks. A scenario is a
whole extraction, from the submission to the stored result; the models are loaded anew for each.
"""

import asyncio
import time
from collections.abc import Sequence
from importlib.metadata import version
from statistics import mean
from typing import Any, Final

from apps.extractor.tests.clips import Caption, make_clip
from apps.extractor.tests.measures import character_accuracy, word_error_rate
from apps.extractor.tests.running import extract, extracting, text_of
from benchmarks.contestant_main import Figures, Request, Settings, answer
from fairlane_extractor.results import StoredResult

VOICES: Final = ("slt", "awb", "rms", "kal", "kal16")
SPOKEN: Final = (
    "The quick brown fox jumps over the lazy dog near the river bank.",
    "Please remember to bring your passport and a warm coat tomorrow morning.",
    "She opened the window because the room was hot and full of smoke.",
    "Every summer my grandfather repaired old clocks in his small workshop.",
)
# Not among the sentences with which the recognisers were adjusted.
READ: Final = (
    *SPOKEN,
    "The train to the coast leaves from the second platform in ten minutes.",
    "We planted tomatoes and beans behind the house last spring.",
    "The doctor asked how long the pain had lasted.",
    "After the storm the streets were covered with leaves and broken branches.",
    "He forgot his keys on the kitchen table again.",
    "Our teacher explained the problem twice before the bell rang.",
    "The museum is closed on Monday but open late on Friday evening.",
    "They walked along the beach until the sun went down.",
)
ENGLISH: Final = (
    "Welcome to the river", "Chapter 1: The old bridge", "Tickets cost 12 euros",
    "Closed on Mondays", "Thank you for watching",
)  # fmt: skip
CHINESE: Final = (
    "欢迎来到河边", "第一章：老桥", "门票十二元", "星期一休息", "谢谢观看",
)  # fmt: skip
CAPTION_SECONDS: Final = 3.0

Clip = dict[str, Any]


async def timed(
    request: Request, clips: Sequence[Clip], **options: Any
) -> tuple[list[StoredResult], float]:
    """Return the results, and the seconds of work for a minute of media."""
    async with extracting(request.folder / "data") as extractor:
        paths = [
            make_clip(request.folder / f"clip-{number}.mp4", **clip)
            for number, clip in enumerate(clips)
        ]
        began = time.perf_counter()
        jobs = [await extract(extractor, path, **options) for path in paths]
        took = time.perf_counter() - began
        results = [text_of(extractor, job) for job in jobs]
    return results, 60 * took / sum(one.seconds or 0.0 for one in results)


def captions(texts: Sequence[str]) -> list[Caption]:
    starts = [CAPTION_SECONDS * number for number in range(len(texts))]
    return [(at, at + CAPTION_SECONDS, text) for at, text in zip(starts, texts, strict=True)]


def text_in(result: StoredResult) -> str:
    return "\n".join(line.text for line in result.lines)


async def speech(request: Request) -> Figures:
    said = [(6.0 * number, text) for number, text in enumerate(READ)]
    results, seconds = await timed(
        request, [{"speech": said, "voice": voice} for voice in VOICES], frames="never"
    )
    rates = [word_error_rate(" ".join(READ), text_in(result)) for result in results]
    return _figures(seconds, word_error_rate=mean(rates), worst_voice=max(rates))


async def frames(request: Request) -> Figures:
    clips = [{"captions": captions(texts), "sound": "none"} for texts in (ENGLISH, CHINESE)]
    results, seconds = await timed(request, clips)
    english, chinese = (
        character_accuracy("\n".join(texts), text_in(result))
        for texts, result in zip((ENGLISH, CHINESE), results, strict=True)
    )
    return _figures(seconds, english=english, chinese=chinese)


async def tracks(request: Request) -> Figures:
    clips = [
        {"tracks": [(language, captions(texts))], "sound": "silence"}
        for language, texts in (("en", ENGLISH), ("zh", CHINESE))
    ]
    results, seconds = await timed(request, clips, frames="never")
    shares = [
        float([line.text for line in result.lines] == list(texts))
        for texts, result in zip((ENGLISH, CHINESE), results, strict=True)
    ]
    return _figures(seconds, characters=min(shares))


async def merged(request: Request) -> Figures:
    """A text that is said and shown at once must be one line, not two."""
    times = [6.0 * number for number in range(len(SPOKEN))]
    clip = {
        "speech": list(zip(times, SPOKEN, strict=True)),
        "captions": [(at, at + 5.0, text) for at, text in zip(times, SPOKEN, strict=True)],
        "size": (1280, 360),
    }
    [result], seconds = await timed(request, [clip])
    accuracy = character_accuracy("\n".join(SPOKEN), text_in(result))
    return _figures(seconds, characters=accuracy, lines=len(result.lines))


def _figures(seconds_per_minute: float, **figures: float) -> Figures:
    rate = 60 / seconds_per_minute  # minutes of media in a minute
    return {"per_second": rate, "seconds_per_minute": seconds_per_minute, **figures}


def settings(_: Request) -> Settings:
    return {
        "version": version("fairlane-extractor"),
        "speech": f"moonshine {version('moonshine-voice')}, voices of flite: {', '.join(VOICES)}",
        "frames": f"rapidocr {version('rapidocr')}, 640 × 360 pixels",
    }


if __name__ == "__main__":
    answer({
        "settings": settings,
        "speech": lambda request: asyncio.run(speech(request)),
        "text on frames": lambda request: asyncio.run(frames(request)),
        "subtitle tracks": lambda request: asyncio.run(tracks(request)),
        "said and shown": lambda request: asyncio.run(merged(request)),
    })  # fmt: skip
