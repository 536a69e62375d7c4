"""A worker to be killed or frozen: `programs_worker.py FOLDER [leased | child | forked]`.

It runs a `programs_family.py` and says so; `leased` on a leash that it renews while it can, `child`
as a child process with messages. `forked` leaves a copy of this process that keeps its files open.
"""

import asyncio
import os
import signal
import sys
from pathlib import Path

from fairlane.process.child_pool import Child
from fairlane.process.process_group import ProcessDeadline
from fairlane.process.program import Program
from fairlane.runtime.clock import boot_seconds
from tests.support.programs_processes import script

LEASE_SECONDS = 1.0


async def main(folder: str, mode: str = "plain") -> None:
    process_deadline = ProcessDeadline(boot_seconds() + 30) if mode == "leased" else None
    family = script("programs_family.py", folder)
    if mode == "child":
        await Child.start(family)
    else:
        await Program.start(family, process_deadline=process_deadline)
    if mode == "forked":
        copy = os.fork()
        if copy == 0:
            os.close(1)
            signal.pause()
        (Path(folder) / "copy").write_text(str(copy))
    sys.stdout.write("started\n")
    sys.stdout.flush()
    while True:
        if process_deadline is not None:
            process_deadline.renew(boot_seconds() + LEASE_SECONDS)
        await asyncio.sleep(0.1)


asyncio.run(main(*sys.argv[1:]))
