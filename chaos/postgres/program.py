"""Declare the app under test: every process runs the same app on one PostgreSQL database.

`CHAOS_DATABASE` is the address of the database, `CHAOS_FOLDER` holds the journal, `CHAOS_PROGRAM`
is the number of this start of a process. `chaos.postgres.program_main` runs the app and submits
jobs; `fairlane work` runs the app as a worker only.
"""

import asyncio
import ctypes
import os
import signal
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from chaos.journal import Journal
from chaos.postgres.settings import (
    GATE_SECONDS,
    GATE_STARTS,
    MANY_CRASHES,
    MAX_CONCURRENT,
    SLOTS,
    TICK,
    TICK_SECONDS,
    TOOLS,
)
from fairlane import Context, Fairlane, Retry, SyncContext

PROGRAM: Final = int(os.environ["CHAOS_PROGRAM"])
_END_WITH_PARENT: Final = 1  # PR_SET_PDEATHSIG

Made = tuple[int, int]  # the process and the attempt that made a result

if os.getppid() == int(os.environ["CHAOS_DRIVER"]):
    # A worker must end with its driver. Child processes of tasks end with their supervisor.
    ctypes.CDLL(None).prctl(_END_WITH_PARENT, signal.SIGKILL)

journal = Journal(Path(os.environ["CHAOS_FOLDER"]) / "journal")
app = Fairlane(os.environ["CHAOS_DATABASE"], slots=SLOTS, stop_grace_seconds=5)
app.queue("lanes", max_concurrent=MAX_CONCURRENT["lanes"])
app.queue("isolated", max_concurrent=MAX_CONCURRENT["isolated"])
app.queue("quick")
app.queue("rated")
app.queue("scarce")
app.queue("ticks")
app.queue("backlog")
app.limit("gate", starts=GATE_STARTS, per_seconds=GATE_SECONDS)
app.resource("tool", TOOLS)


@contextmanager
def body(ctx: Context | SyncContext, *, key: str = "", where: str = "") -> Iterator[Made]:
    """Record the begin and the end of an attempt, on success and on failure."""
    job = ctx.job
    facts = {
        "program": PROGRAM, "job": job.id, "attempt": ctx.attempt, "queue": job.queue,
        "lane": job.lane, "key": key,
    }  # fmt: skip
    journal.note("begin", wall=time.time(), text=where, **facts)
    how = "stopped"
    try:
        yield PROGRAM, ctx.attempt
        how = "done"
    except Exception as error:
        how = type(error).__name__
        raise
    finally:
        journal.note("end", text=how, **facts)


# The lane template of the following tasks reads their parameter `lane`.
@app.task(
    queue="lanes", lane="{lane}", recover=MANY_CRASHES,
    retry=Retry(times=3, first_seconds=0.02, factor=1),
)  # fmt: skip
async def steady(ctx: Context, lane: str, seconds: float, failures: int = 0) -> Made:  # noqa: ARG001
    with body(ctx) as made:
        await asyncio.sleep(seconds)
        if ctx.attempt <= failures:
            raise TimeoutError("planned failure")
    return made


@app.task(queue="lanes", lane="{lane}", recover=MANY_CRASHES)
def plain(ctx: SyncContext, lane: str, seconds: float) -> Made:  # noqa: ARG001
    with body(ctx) as made:
        time.sleep(seconds)
    return made


@app.task(queue="isolated", lane="{lane}", recover=MANY_CRASHES, isolation="process")
def isolated(ctx: SyncContext, lane: str, seconds: float) -> Made:  # noqa: ARG001
    with body(ctx, where="child") as made:
        until = time.monotonic() + seconds
        while time.monotonic() < until:
            journal.note("beat", program=PROGRAM, job=ctx.job.id, attempt=ctx.attempt)
            time.sleep(0.01)
    return made


@app.task(queue="quick")
async def quick(ctx: Context) -> Made:
    with body(ctx) as made:
        pass
    return made


@app.task(queue="rated", limits=["gate"], recover=MANY_CRASHES)
async def rated(ctx: Context) -> Made:
    with body(ctx) as made:
        pass
    return made


@app.task(queue="scarce", uses={"tool": 1}, recover=MANY_CRASHES)
async def scarce(ctx: Context, seconds: float) -> Made:
    with body(ctx) as made:
        await asyncio.sleep(seconds)
    return made


@app.task(queue="backlog", recover=MANY_CRASHES)
async def waiting(ctx: Context, seconds: float) -> None:
    with body(ctx):
        await asyncio.sleep(seconds)


@app.task(queue="ticks", recover=MANY_CRASHES)
async def ticks(ctx: Context) -> Made:
    with body(ctx, key=TICK) as made:
        pass
    return made


# Without coalescing each instant has a separate job, so that every missing one is noticed.
app.schedule(TICK, ticks.call(), every_seconds=TICK_SECONDS, coalesce=False, overlap="queue")
