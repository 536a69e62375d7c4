"""A program as a user writes it, on any database: `process_bad_database.py URL`.

`plain` as a second argument starts it without asyncio. Permissions do not bind root, so
PROCESS_USER names a user to become first.
"""

import asyncio
import os
import sys

from fairlane import Fairlane
from fairlane.store.sqlite.migrate import migrations

app = Fairlane(sys.argv[1])


@app.task
async def nothing() -> None: ...


async def main() -> None:
    async with app:
        await (await nothing.submit()).wait()


if "PROCESS_USER" in os.environ:
    user = int(os.environ["PROCESS_USER"])
    migrations()  # read now: the other user may have no access to this Python
    os.setgroups([])
    os.setgid(user)
    os.setuid(user)
if sys.argv[2:] == ["plain"]:
    app.start()
    app.sync.submit(nothing.call()).wait()
    app.stop()
else:
    asyncio.run(main())
sys.stdout.write("worked\n")
