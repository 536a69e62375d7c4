"""Copy an original that could not be made smaller to the place of its result."""

import asyncio
from pathlib import Path
from typing import Final

from fairlane import Context

_PIECE: Final = 1 << 20


async def copy(ctx: Context, source: Path, part: Path, *, size: int) -> None:
    """Copy in pieces, so that no byte is written after the job has ended."""
    copied = 0
    with source.open("rb") as read, part.open("wb") as write:
        while data := await asyncio.to_thread(read.read, _PIECE):
            await asyncio.to_thread(write.write, data)
            copied += len(data)
            ctx.progress(100 * copied / size, "copying the original, which is not larger")
