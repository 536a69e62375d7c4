"""Declare the app under test: one queue of every kind.

The app works in the folder `CHAOS_FOLDER`. `CHAOS_DATABASE` names the database, which may lie on
another disk than the journal. `CHAOS_PROGRAM` is the number of this start of the program.
`chaos.program_main` runs it.
"""

import asyncio
import os
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from chaos.journal import Journal
from chaos.settings import (
    GATE_SECONDS,
    GATE_STARTS,
    MANY_CRASHES,
    MAX_CONCURRENT,
    TICK,
    TICK_SECONDS,
    TOOLS,
)
from fairlane import Context, Fairlane, Retry, SyncContext

FOLDER: Final = Path(os.environ["CHAOS_FOLDER"])
DATABASE: Final = Path(os.environ.get("CHAOS_DATABASE", FOLDER / "work.db"))
JOURNAL_PATH: Final = FOLDER / "journal"
PROGRAM: Final = int(os.environ["CHAOS_PROGRAM"])  # the driver's number of this start
HEARTBEAT_PROGRAM: Final = Path(__file__).with_name("heartbeat_program.py")

journal = Journal(JOURNAL_PATH)
app = Fairlane(f"sqlite:///{DATABASE}", slots=24, stop_grace_seconds=0)
app.queue("lanes", max_concurrent=MAX_CONCURRENT["lanes"])
app.queue("turns", max_concurrent=MAX_CONCURRENT["turns"], order="round_robin")
app.queue("line", max_concurrent=MAX_CONCURRENT["line"], order="strict")
app.queue("programs", max_concurrent=MAX_CONCURRENT["programs"])
app.queue("isolated", max_concurrent=MAX_CONCURRENT["isolated"])
app.queue("desk", max_concurrent=MAX_CONCURRENT["desk"])
app.queue("quick")
app.queue("rated")
app.queue("scarce")
app.limit("gate", starts=GATE_STARTS, per_seconds=GATE_SECONDS)
app.resource("tool", TOOLS)


@contextmanager
def body(ctx: Context | SyncContext, key: str = "") -> Iterator[None]:
    """Record the begin and the end of an attempt, on success and on failure."""
    job = ctx.job
    facts = {
        "program": PROGRAM, "job": job.id, "attempt": ctx.attempt, "queue": job.queue,
        "lane": job.lane, "key": key,
    }  # fmt: skip
    journal.note("begin", wall=time.time(), **facts)
    how = "stopped"
    try:
        yield
        how = "done"
    except Exception as error:
        how = type(error).__name__
        raise
    finally:
        journal.note("end", text=how, **facts)


@app.task(queue="lanes", lane="{lane}", retry=Retry(times=3, first_seconds=0.02, factor=1))
async def steady(ctx: Context, lane: str, seconds: float, failures: int = 0) -> str:
    with body(ctx):
        await asyncio.sleep(seconds)
        if ctx.attempt <= failures:
            raise TimeoutError("planned failure")
    return lane


# The lane template of the following tasks reads their parameter `lane`.
@app.task(queue="lanes", lane="{lane}")
def plain(ctx: SyncContext, lane: str, seconds: float) -> None:  # noqa: ARG001
    with body(ctx):
        time.sleep(seconds)


@app.task(queue="quick")
async def quick(ctx: Context) -> None:
    with body(ctx):
        pass


@app.task(queue="quick")
async def later(ctx: Context) -> None:
    with body(ctx):
        pass


@app.task(queue="quick", dedupe="{key}")
async def single(ctx: Context, key: str, seconds: float) -> None:
    with body(ctx, key):
        await asyncio.sleep(seconds)


@app.task(queue="rated", limits=["gate"])
async def rated(ctx: Context) -> None:
    with body(ctx):
        pass


@app.task(queue="scarce", uses={"tool": 1})
async def scarce(ctx: Context, seconds: float) -> None:
    with body(ctx):
        await asyncio.sleep(seconds)


@app.task(queue="turns", lane="{lane}")
async def turn(ctx: Context, lane: str, seconds: float) -> None:  # noqa: ARG001
    with body(ctx):
        await asyncio.sleep(seconds)


@app.task(queue="line")
async def in_line(ctx: Context, seconds: float) -> None:
    with body(ctx):
        await asyncio.sleep(seconds)


@app.task(queue="desk", recover=MANY_CRASHES)
async def letter(ctx: Context) -> None:
    with body(ctx):
        await asyncio.sleep(0.01)


@app.task(queue="programs", lane="{lane}", recover=MANY_CRASHES)
async def runs_program(ctx: Context, lane: str, seconds: float) -> None:  # noqa: ARG001
    with body(ctx):
        arguments = (JOURNAL_PATH, PROGRAM, ctx.job.id, ctx.attempt, seconds)
        await ctx.run([sys.executable, "-I", "-S", HEARTBEAT_PROGRAM, *map(str, arguments)])


@app.task(queue="isolated", lane="{lane}", recover=MANY_CRASHES, isolation="process")
def isolated(ctx: SyncContext, lane: str, seconds: float) -> None:  # noqa: ARG001
    with body(ctx):
        until = time.monotonic() + seconds
        while time.monotonic() < until:
            journal.note("beat", program=PROGRAM, job=ctx.job.id, attempt=ctx.attempt)
            time.sleep(0.01)


@app.task(queue="quick", recover=MANY_CRASHES)
async def ticks(ctx: Context) -> None:
    with body(ctx, TICK):
        pass


app.schedule(TICK, ticks.call(), every_seconds=TICK_SECONDS)
