"""A compressor in a separate process, to be killed: it submits the given sources, and works."""

import asyncio
import sys

from fairlane_compressor.program import build


async def work(database: str, recover: str, *sources: str) -> None:
    app = build(database, recover=int(recover))
    async with app:
        compress = app.tasks["compress"]
        await app.submit_many([compress.call(source=source) for source in sources])
        await asyncio.Event().wait()


if __name__ == "__main__":
    asyncio.run(work(*sys.argv[1:]))
