"""An extractor in a separate process, to be killed: it works on the queue of a folder."""

import asyncio
import sys
from pathlib import Path

from fairlane_extractor.program import build
from fairlane_extractor.settings import Settings


async def work(folder: str, *allow: str) -> None:
    extractor = build(Settings(folder=Path(folder), allow=allow))
    extractor.results.prepare()
    async with extractor.app:
        await extractor.sweep()
        print("working", flush=True)  # noqa: T201
        await asyncio.Event().wait()


if __name__ == "__main__":
    asyncio.run(work(*sys.argv[1:]))
