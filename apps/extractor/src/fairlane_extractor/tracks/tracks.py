"""Read the subtitles of a media: the best track, or the next one if that cannot be read."""

from collections.abc import Callable, Sequence
from typing import Any, Final

import msgspec

from fairlane import Context, Permanent
from fairlane_extractor.child_program import run_child
from fairlane_extractor.languages import short_code
from fairlane_extractor.media import LocalMedia, Track
from fairlane_extractor.segments import Branch, BranchResult
from fairlane_extractor.settings import Settings
from fairlane_extractor.tracks.reading import ReadTrack

MODULE: Final = "fairlane_extractor.tracks.tracks_child"
MOST_TRACKS: Final = 8  # that are tried; a hostile media may have thousands


async def read_tracks(
    ctx: Context,
    settings: Settings,  # noqa: ARG001 - the functions of all branches have it
    local: LocalMedia,
    language: str | None,
    progress: Callable[[float, str], None],
) -> BranchResult:
    """Return the text of the best track; a media without text in tracks is skipped.

    The reason names the tracks that could not be downloaded. `Permanent` with the code
    `corrupt_track` is raised if no track can be read.
    """
    tracks = best_first(local.tracks, language)[:MOST_TRACKS]
    lost = f"lost while downloading: {'; '.join(local.lost_tracks)}" if local.lost_tracks else None
    if not tracks and lost:
        return _skipped("lost_tracks", f"no subtitle track is left; {lost}")
    if not tracks:
        return _skipped("no_tracks", "the media has no subtitle tracks")

    def follow(name: str, value: Any) -> None:
        if name == "progress":
            progress(value["percent"], value["message"])

    request = {
        "path": local.path, "seconds": local.seconds, "tracks": msgspec.to_builtins(tracks)
    }  # fmt: skip
    try:
        answer = await run_child(ctx, MODULE, request, on_message=follow)
    except Permanent as error:
        if lost is None or error.code != "corrupt_track":
            raise
        raise Permanent(f"{error}; {lost}", code=error.code) from error
    read = msgspec.convert(answer, ReadTrack)
    if read.track is None:
        return _skipped("empty_track", _joined(read.reason or "the tracks have no text", lost))
    branch = Branch(
        name="subtitle", status="used", method=read.method, segments=len(read.segments),
        reason=_joined(read.reason, lost) or None,
    )  # fmt: skip
    return BranchResult(branch=branch, segments=read.segments)


def best_first(tracks: Sequence[Track], language: str | None) -> list[Track]:
    """Return the readable tracks: of the wanted language first, human before automatic."""
    wanted = short_code(language)

    def rank(track: Track) -> tuple[bool, bool]:
        return (wanted is not None and short_code(track.language) != wanted, track.is_automatic)

    present = [track for track in tracks if track.path is not None or track.stream is not None]
    return sorted(present, key=rank)


def _joined(*reasons: str | None) -> str:
    return "; ".join(reason for reason in reasons if reason)


def _skipped(code: str, reason: str) -> BranchResult:
    branch = Branch(name="subtitle", status="skipped", code=code, reason=reason)
    return BranchResult(branch=branch)
