"""A program on Fairlane that a test controls: `process_app.py [client] [slots=N]`.

It reads commands from its input, one JSON object per line, and answers each with a line; it stops
cleanly when its input ends. It works in the folder PROCESS_APP_FOLDER: the database is there unless
PROCESS_APP_DATABASE names another path, and the tasks write into `journal` and can wait for gates;
a gate is open once the file `gates/NAME` exists. A `client` runs no jobs itself.
"""

import asyncio
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Awaitable, Callable
from operator import attrgetter
from pathlib import Path
from typing import Any

import msgspec

from fairlane import Context, Fairlane, FairlaneError, Priority, SyncContext
from tests.support import process_journal

FOLDER = Path(os.environ["PROCESS_APP_FOLDER"])  # a child of isolation="process" has no arguments
JOURNAL = FOLDER / "journal"
GATES = FOLDER / "gates"
OPTIONS = dict(option.partition("=")[::2] for option in sys.argv[1:])

app = Fairlane(
    f"sqlite:///{os.environ.get('PROCESS_APP_DATABASE', FOLDER / 'work.db')}",
    stop_grace_seconds=0,
    work="client" not in OPTIONS,
    slots=int(OPTIONS.get("slots", 16)),
)
app.queue("lanes", max_concurrent=4)
app.queue("single", max_concurrent=1)
app.limit("slow", starts=3, per_seconds=2)


async def opened(gate: str) -> None:
    while not (GATES / gate).exists():  # noqa: ASYNC110 - another process opens it
        await asyncio.sleep(0.005)


def note(ctx: Context | SyncContext, what: str, name: str) -> None:
    job = ctx.job
    lane = job.lane or ""
    process_journal.write(JOURNAL, what, name=name, lane=lane, job=job.id, attempt=ctx.attempt)


@app.task(queue="lanes", lane="{lane}")
async def work(ctx: Context, name: str, lane: str, seconds: float = 0.0) -> str:
    note(ctx, "start", name)
    await asyncio.sleep(seconds)
    note(ctx, "end", name)
    return name


@app.task(queue="single")
async def gated(ctx: Context, name: str, gate: str = "open") -> str:
    note(ctx, "start", name)
    await opened(gate)
    note(ctx, "end", name)
    return name


@app.task
async def bulky(ctx: Context, name: str, gate: str = "open") -> str:
    """Return more than fits into the remaining space of a database."""
    note(ctx, "start", name)
    await opened(gate)
    note(ctx, "end", name)
    return name * 200_000


@app.task(limits=["slow"])
async def limited(ctx: Context, name: str) -> None:
    note(ctx, "start", name)


@app.task
async def staged(ctx: Context, name: str, gate: str) -> str:
    async def once() -> str:
        note(ctx, "first stage", name)
        return f"made by attempt {ctx.attempt}"

    async def then() -> None:
        note(ctx, "second stage", name)
        await opened(gate)

    made = await ctx.stage("first").run(once)
    await ctx.stage("second").run(then)
    return str(made)


@app.task
async def family(ctx: Context, folder: str) -> None:
    script = Path(__file__).with_name("programs_family.py")
    await ctx.run([sys.executable, script, folder])


@app.task(lane="{name}")
async def beats(ctx: Context, name: str) -> None:
    """Run a program that writes heartbeats into the journal."""
    program = (
        "import sys, time; from pathlib import Path\n"
        "from tests.support import process_journal\n"
        "path, name, job, attempt = sys.argv[1:]\n"
        "while True:\n"
        "    process_journal.write(Path(path), 'beat', name=name, lane=name, job=job,\n"
        "                          attempt=int(attempt))\n"
        "    time.sleep(0.005)\n"
    )
    await ctx.run([sys.executable, "-c", program, JOURNAL, name, ctx.job.id, str(ctx.attempt)])


@app.task(isolation="process")
def isolated(ctx: SyncContext, folder: str) -> None:
    """Run in a child process that has a child, and never end."""
    grandchild = subprocess.Popen([sys.executable, "-c", "import signal; signal.pause()"])
    for member, pid in (("isolated", os.getpid()), ("its child", grandchild.pid)):
        unfinished = Path(folder) / f".{member}"
        unfinished.write_text(str(pid))
        unfinished.rename(Path(folder) / member)
    signal.pause()


@app.task
async def writes(ctx: Context, folder: str, gate: str) -> None:
    """Publish one file, then hang while writing another."""
    async with ctx.output(f"{folder}/whole.txt", on_exists="overwrite") as path:
        path.write_text(f"attempt {ctx.attempt}")
    async with ctx.output(f"{folder}/half.txt", on_exists="overwrite") as path:
        path.write_text("half")
        note(ctx, "half written", "writes")
        await opened(gate)


@app.task
async def blocks(ctx: Context, seconds: float) -> None:
    note(ctx, "start", "blocks")
    time.sleep(seconds)  # noqa: ASYNC251 - that is the point
    note(ctx, "end", "blocks")


@app.task(grace_seconds=20)
async def submits_when_stopped(ctx: Context, name: str) -> None:
    """Submit another job during cancellation, as cleanup code may."""
    note(ctx, "start", name)
    try:
        await opened("never")
    finally:
        await gated.submit(name=f"after {name}")


@app.task(grace_seconds=20)
def plain(ctx: SyncContext, name: str) -> None:
    note(ctx, "start", name)
    while not ctx.stopping:
        time.sleep(0.005)


# commands


async def submit(task: str, params: dict[str, Any], options: dict[str, Any]) -> str:
    priority = options.pop("priority", None)
    if priority is not None:
        options["priority"] = Priority[priority.upper()]
    return (await app.jobs.submit_by_name(task, params, **options)).id


async def submit_all(task: str, params: list[dict[str, Any]]) -> list[str]:
    calls = [app.tasks[task].call(**each) for each in params]
    return [job.id for job in await app.submit_many(calls)]


async def wait(job: str) -> Any:
    result = await app.jobs.handle(job).wait()
    return result[:100] if isinstance(result, str) else result


async def show(job: str) -> Any:
    return msgspec.to_builtins(await app.jobs.show(job))


async def steer(job: str, verb: str, named: dict[str, Any]) -> Any:
    if verb == "set_priority":
        named["priority"] = Priority[named["priority"].upper()]
    return await getattr(app.jobs.handle(job), verb)(**named)


async def operate(verb: str, name: str, named: dict[str, Any]) -> Any:
    return await attrgetter(verb)(app)(name, **named)  # such as "queues.pause"


async def snapshot() -> Any:
    now = await app.snapshot()
    return {
        "waiting": {q: [j.params.get("name") for j in jobs] for q, jobs in now.waiting.items()},
        "priorities": {q: [j.priority for j in jobs] for q, jobs in now.waiting.items()},
        "running": [job.id for job in now.running],
        "queues": msgspec.to_builtins(now.queues),
    }


async def follow(job: str) -> list[str]:
    """Return the states in the events until the job has ended."""
    states: list[str] = []
    async for event in app.events.follow(after=0):
        if event.job == job and event.type == "job_state_changed":
            states.append(event.data["state"])
            if states[-1] in ("completed", "failed", "cancelled", "skipped"):
                break
    return states


async def is_leading() -> bool:
    return app._engine.calls.leading


COMMANDS: dict[str, Callable[..., Awaitable[Any]]] = {
    function.__name__: function
    for function in (
        submit, submit_all, wait, show, steer, operate, snapshot, follow, is_leading,
    )
}  # fmt: skip


def say(**message: Any) -> None:
    sys.stdout.write(json.dumps(message) + "\n")
    sys.stdout.flush()


async def carry_out(number: int, command: str, arguments: dict[str, Any]) -> None:
    try:
        answer = await COMMANDS[command](**arguments)
    except FairlaneError as error:
        say(number=number, problem={"type": type(error).__name__, **error.as_problem()})
    else:
        say(number=number, answer=answer)


async def main() -> None:
    reader = asyncio.StreamReader(limit=2**20)
    loop = asyncio.get_running_loop()
    await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), sys.stdin)
    this = asyncio.current_task()
    assert this is not None
    loop.add_signal_handler(signal.SIGTERM, this.cancel)
    async with app, asyncio.TaskGroup() as commands:
        say(ready=os.getpid())
        while line := await reader.readline():
            message = json.loads(line)
            commands.create_task(carry_out(**message))
    say(stopped=True)


if __name__ == "__main__":
    # A process started in the background by a shell ignores SIGINT, and so do its children.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    asyncio.run(main())
