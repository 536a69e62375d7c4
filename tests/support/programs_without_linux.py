"""A small program for a system without the parts of Linux that macOS lacks.

`programs_without_linux.py FOLDER first` runs one task of each kind, cancels a job whose program
runs, prints the results as one JSON line, and waits to be killed while another such job runs.
`… second JOB` opens the same database and prints the result of that job.
"""

import asyncio
import json
import os
import sys
import threading
from pathlib import Path
from typing import Any

from fairlane import Context, Fairlane, JobCancelled, SyncContext
from fairlane.process import process_group
from tests.support import apps_isolated
from tests.support.eventually import eventually
from tests.support.programs_processes import SUPPORT

FOLDER = Path(sys.argv[1])
SLEEPER = 'sleep 1000 & echo $$ $! > "$0.new"; mv "$0.new" "$0"; wait'

app = Fairlane(f"sqlite:///{FOLDER}/work.db", stop_grace_seconds=0)


@app.task
async def coroutine(ctx: Context) -> str:
    return (await ctx.run(["echo", "hello"])).stdout_tail.strip()


@app.task
def thread(ctx: SyncContext) -> str:
    with ctx.output(FOLDER / "made.txt") as temporary:
        temporary.write_text("whole")
    return threading.current_thread().name


@app.task
async def sleeper(ctx: Context, mark: str) -> str:
    if ctx.attempt == 1:
        await ctx.run(["sh", "-c", SLEEPER, str(FOLDER / mark)])
    return f"attempt {ctx.attempt}"


process = app.task(isolation="process")(apps_isolated.process_id)


async def first() -> None:
    async with app:
        results = {
            "coroutine": await (await coroutine.submit()).wait(),
            "thread": await (await thread.submit()).wait(),
            "process": await (await process.submit()).wait() != os.getpid(),
        }
        cancelled = await sleeper.submit("cancelled")
        await eventually((FOLDER / "cancelled").exists)
        await cancelled.cancel()
        try:
            await cancelled.wait()
        except JobCancelled:
            results["sleeper"] = "cancelled"
        job = await sleeper.submit("killed")
        await eventually((FOLDER / "killed").exists)
        report(results | {"job": job.id})
        await asyncio.Event().wait()


async def second() -> None:
    async with app:
        job = app.jobs.handle(sys.argv[3])
        report({"sleeper": await job.wait()})


def report(results: dict[str, Any]) -> None:
    sys.stdout.write(json.dumps(results) + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    process_group.SUPERVISOR = str(SUPPORT / "without_linux" / "supervisor.py")  # type: ignore[misc]
    asyncio.run({"first": first, "second": second}[sys.argv[2]]())
