"""The child process that decodes frames and reads their text."""

import os
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Final

import msgspec

from fairlane_extractor.child_memory import memory_errors
from fairlane_extractor.child_side import ChildError, Send, serve
from fairlane_extractor.frames.captions import bound_segments, make_segments
from fairlane_extractor.frames.found_text import FoundText
from fairlane_extractor.frames.reading import TextReader
from fairlane_extractor.frames.row_times import RowTimes
from fairlane_extractor.frames.sampling import FrameSampler, UnreadableFrames

PROGRESS_SECONDS: Final = 0.5


def work(request: Mapping[str, Any], send: Send) -> Any:
    """Return the text of a video."""
    sent_at = 0.0

    def note(percent: float, message: str) -> None:
        nonlocal sent_at
        if time.monotonic() - sent_at >= PROGRESS_SECONDS:
            sent_at = time.monotonic()
            send("progress", {"percent": percent, "message": message})

    threads = int(os.environ.get("OMP_NUM_THREADS") or 1)
    try:
        found = find_text(Path(request["path"]), request["seconds"], threads, note)
    except UnreadableFrames as error:
        raise ChildError("unreadable_frames", f"the frames cannot be read: {error}") from error
    return msgspec.to_builtins(found)


def find_text(
    path: Path, seconds: float | None, threads: int, note: Callable[[float, str], None]
) -> FoundText:
    """Read all samples of a video whose picture has changed."""
    sampler = FrameSampler(path, threads)
    rows = RowTimes()
    reader: TextReader | None = None
    read = failed = 0
    problem = ""
    for sample in sampler.samples():
        percent = min(99.0, 100 * sample.time / seconds) if seconds else 0.0
        note(percent, f"read {sample.time:.0f} s of the video")
        if sample.picture is None:
            rows.continue_all(sample.time)
            continue
        reader = reader or TextReader(threads)
        try:
            with memory_errors():
                found = reader.read(sample.picture)
        except MemoryError:
            raise
        except Exception as error:  # noqa: BLE001 - one frame must not stop the others
            failed, problem = failed + 1, f"{type(error).__name__}: {error}"[:300]
            continue
        rows.update(found, sample.since, sample.time)
        read += 1
    if failed and not read:
        raise UnreadableFrames(f"the recogniser fails on each of them with {problem}")
    end = max(sampler.end, seconds or 0.0)
    made = make_segments(rows.finish(end), end)
    kept = bound_segments(made)
    return FoundText(
        has_video=sampler.sampled > 0,
        segments=tuple(kept),
        reason=_reason(sampler.damaged + failed, len(made) - len(kept) + rows.dropped),
        sampled=sampler.sampled,
        read=read,
        recognised=reader.recognised if reader else 0,
    )


def _reason(damaged: int, dropped: int) -> str | None:
    parts = [f"damaged frames that were skipped: {damaged}"] if damaged else []
    parts += [f"short texts that were dropped at the bound: {dropped:,}"] if dropped else []
    return "; ".join(parts) or None


if __name__ == "__main__":
    serve(work)
