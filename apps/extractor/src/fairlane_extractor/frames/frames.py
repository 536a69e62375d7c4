"""Recognise the text that is written on the frames of a video."""

from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

import msgspec

from fairlane import Context
from fairlane_extractor.child_program import run_child
from fairlane_extractor.frames.found_text import FoundText
from fairlane_extractor.media import LocalMedia
from fairlane_extractor.segments import Branch, BranchResult
from fairlane_extractor.settings import Settings

MODULE: Final = "fairlane_extractor.frames.frames_child"
METHOD: Final = "rapidocr"


async def recognise(
    ctx: Context,
    settings: Settings,
    local: LocalMedia,
    folder: Path,  # noqa: ARG001 - recognisers share a signature; this one writes no files
    progress: Callable[[float, str], None],
) -> BranchResult:
    """Return the text on the frames, with the times during which it is there.

    `Permanent` with the code `unreadable_frames` is raised if no frame can be decoded, and
    `OutOfMemory` if the recogniser needs more memory than it may have.
    """
    if not local.has_video:
        return _skipped("no_video", "the media has no pictures")

    def follow(name: str, value: Any) -> None:
        if name == "progress":
            progress(value["percent"], value["message"])

    answer = await run_child(
        ctx,
        MODULE,
        {"path": local.path, "seconds": local.seconds},
        on_message=follow,
        memory_bytes=settings.recogniser_memory_bytes,
    )
    found = msgspec.convert(answer, FoundText)
    if not found.has_video:
        return _skipped("no_video", "the only picture of the media is its cover")
    reason = found.reason if found.segments else "no text was found on the frames"
    branch = Branch(
        name="ocr", status="used", method=METHOD, segments=len(found.segments),
        code=None if found.segments else "no_text", reason=reason,
    )  # fmt: skip
    return BranchResult(branch=branch, segments=found.segments)


def _skipped(code: str, reason: str) -> BranchResult:
    return BranchResult(branch=Branch(name="ocr", status="skipped", code=code, reason=reason))
