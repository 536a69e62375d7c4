"""The streams of a file of this machine, and the refusal of files that are no media."""

import asyncio
import stat
from pathlib import Path
from typing import Final

import msgspec

from fairlane import Context, Permanent
from fairlane_extractor.child_program import run_child
from fairlane_extractor.media import LocalMedia
from fairlane_extractor.settings import Settings

PROBE_SECONDS: Final = 300.0  # a film without an index is read once


async def probe(ctx: Context, settings: Settings, path: Path) -> LocalMedia:
    """Return the streams and the subtitle tracks of a file."""
    request = {"path": str(path), "longest_seconds": settings.longest_seconds}
    try:
        async with asyncio.timeout(PROBE_SECONDS):
            found = await run_child(
                ctx,
                "fairlane_extractor.sources.probe_child",
                request,
            )
    except TimeoutError:
        raise Permanent(
            f"{path.name!r} could not be read within {PROBE_SECONDS:.0f} seconds: it is damaged, "
            "or its disk is too slow",
            code="corrupt_media",
        ) from None
    return msgspec.convert(found, LocalMedia)


def check_file(path: Path) -> int:
    """Return the size of a local file; raise unless it is a file with contents."""
    try:
        facts = path.stat()
    except FileNotFoundError:
        raise Permanent(
            f"there is no file {str(path)!r}; check its path", code="not_found"
        ) from None
    except (OSError, ValueError) as error:
        raise Permanent(f"{str(path)!r} cannot be opened: {error}", code="not_found") from None
    if not stat.S_ISREG(facts.st_mode):
        raise Permanent(
            f"{str(path)!r} is a folder or a device; a media file is expected",
            code="not_a_media_file",
        )
    if facts.st_size == 0:
        raise Permanent(
            f"{str(path)!r} is empty; a media file is expected, copy or upload it again",
            code="empty_file",
        )
    return facts.st_size
