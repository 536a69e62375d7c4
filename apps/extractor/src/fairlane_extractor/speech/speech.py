"""The speech branch of an extraction."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Final

from fairlane import Context
from fairlane_extractor.child_program import ChildDied, OutOfMemory, run_child
from fairlane_extractor.media import LocalMedia
from fairlane_extractor.segments import Branch, BranchResult, BranchStatus, Segment
from fairlane_extractor.settings import Settings
from fairlane_extractor.speech.choice import (
    EngineName,
    Model,
    choose_engine,
    explain_language,
    knows_language,
)

CHILD: Final = "fairlane_extractor.speech.speech_child"
_USED: Final = frozenset({None, "silence", "no_speech"})  # the sound was examined

Progress = Callable[[float, str], None]


async def recognise(
    ctx: Context,
    settings: Settings,
    local: LocalMedia,
    folder: Path,  # noqa: ARG001 - recognisers need no temporary files
    model: Model,
    language: str | None,
    progress: Progress,
) -> BranchResult:
    """Return the speech of a media as segments, or the reason why there are none.

    Raise `OutOfMemory` if the child needs more memory than the settings allow, and `Permanent` with
    the code `bad_model` if the model of the user cannot be loaded.
    """
    chosen = choose_engine(settings, model)
    if not local.has_audio:
        return _result("skipped", None, code="no_audio", reason="the media has no sound")
    if language is not None and not knows_language(chosen.engine, language):
        reason = explain_language(chosen.engine, language)
        return _result("skipped", None, code="language_without_model", reason=reason)
    request = {
        "path": local.path,
        "engine": chosen.engine,
        "folder": str(chosen.folder) if chosen.folder else None,
        "language": language,
        "longest_seconds": settings.longest_seconds,
    }
    memory_bytes = settings.recogniser_memory_bytes
    try:
        found = await run_child(
            ctx, CHILD, request, on_message=_reporter(progress), memory_bytes=memory_bytes
        )
    except ChildDied as error:
        # pocketsphinx ends its process when an allocation fails.
        if "alloc(" in str(error):
            raise OutOfMemory(chosen.engine, memory_bytes) from error
        raise
    code = found.get("code")
    status: BranchStatus = "used" if code in _USED else "skipped"
    segments = tuple(Segment(source="speech", **one) for one in found["segments"])
    method = chosen.engine if status == "used" else None
    return _result(status, method, segments, code=code, reason=found.get("reason"))


def _reporter(progress: Progress) -> Callable[[str, Any], None]:
    def report(name: str, value: Mapping[str, Any]) -> None:
        if name == "progress":
            progress(value["percent"], value["message"])

    return report


def _result(
    status: BranchStatus,
    method: EngineName | None,
    segments: tuple[Segment, ...] = (),
    *,
    code: str | None,
    reason: str | None,
) -> BranchResult:
    branch = Branch(
        name="asr", status=status, method=method, segments=len(segments), code=code, reason=reason
    )
    return BranchResult(branch=branch, segments=segments)
