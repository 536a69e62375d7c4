"""Run the program: `python -m chaos.program_main [load]`.

With `load` it submits to itself from many coroutines. Commands arrive as JSON lines on its input,
each is answered with a line, and the end of the input stops the program cleanly.
"""

import asyncio
import itertools
import json
import logging
import os
import random
import sys
from datetime import UTC, datetime, timedelta
from operator import attrgetter
from typing import Any

from chaos import program, slow_disk
from chaos.program import app, journal
from fairlane import FairlaneError
from fairlane.tasks import Call

AGENTS = 6
MAX_LIVE = 250  # above this number, submitting more would only lengthen the drain
LANES = [f"lane-{number}" for number in range(8)]
numbers = itertools.count(1)


def new_id() -> str:
    return f"{program.PROGRAM}-{next(numbers)}"


class Load:
    """Coroutines that submit, wait and cancel concurrently."""

    def __init__(self) -> None:
        self._room = asyncio.Event()
        self._rng = random.Random(f"{os.environ.get('CHAOS_SEED')}/{program.PROGRAM}")

    async def run(self) -> None:
        async with asyncio.TaskGroup() as group:
            group.create_task(self._watch())
            for _ in range(AGENTS):
                group.create_task(self._agent())

    async def _watch(self) -> None:
        """Hold the agents back while too many jobs are live."""
        while True:
            try:
                snapshot = await app.snapshot(waiting=1, ended=1)
            except FairlaneError:
                self._room.set()  # the agents must meet the error themselves
            else:
                live = sum(sum(counts.values()) for counts in snapshot.counts.values())
                if live > MAX_LIVE:
                    self._room.clear()
                else:
                    self._room.set()
            await asyncio.sleep(0.1)

    async def _agent(self) -> None:
        rng = self._rng
        while True:
            await self._room.wait()
            many = 1 if rng.random() < 0.8 else rng.randrange(2, 12)
            job = await self.submit([self._call() for _ in range(many)])
            if job is not None and rng.random() < 0.15:
                await self._cancel(job)
            elif job is not None and rng.random() < 0.2:
                await self._wait(job)
            await asyncio.sleep(rng.uniform(0, 0.02))

    def _call(self) -> tuple[str, Call[Any], float]:
        """Return a random call with its id and the time at which it is due."""
        rng = self._rng
        id = new_id()
        short = rng.uniform(0, 0.03)
        kind = rng.choices(
            ["steady", "plain", "quick", "later", "single", "rated", "scarce", "turn", "in_line",
             "program", "isolated"],
            [18, 8, 40, 5, 6, 3, 6, 8, 8, 3, 3],
        )[0]  # fmt: skip
        lane = rng.choice(LANES)
        match kind:
            case "steady":
                failures = rng.choice([0, 0, 0, 0, 1, 2])
                return id, program.steady.options(id=id).call(lane, short, failures), 0.0
            case "plain":
                return id, program.plain.options(id=id).call(lane, short), 0.0
            case "later":
                due = datetime.now(UTC) + timedelta(seconds=rng.uniform(0.1, 1.5))
                return id, program.later.options(id=id, run_at=due).call(), due.timestamp()
            case "single":
                key = f"key-{rng.randrange(3)}"
                return id, program.single.options(id=id).call(key, short), 0.0
            case "rated":
                return id, program.rated.options(id=id).call(), 0.0
            case "scarce":
                return id, program.scarce.options(id=id).call(short), 0.0
            case "turn":
                return id, program.turn.options(id=id).call(LANES[rng.randrange(4)], short), 0.0
            case "in_line":
                return id, program.in_line.options(id=id).call(short), 0.0
            case "program":
                seconds = rng.uniform(0.1, 0.4)
                call = program.runs_program.options(id=id).call(LANES[rng.randrange(3)], seconds)
                return id, call, 0.0
            case "isolated":
                seconds = rng.uniform(0.1, 0.3)
                call = program.isolated.options(id=id).call(LANES[rng.randrange(2)], seconds)
                return id, call, 0.0
            case _:
                return id, program.quick.options(id=id).call(), 0.0

    async def submit(self, asked: list[tuple[str, Call[Any], float]]) -> str | None:
        """Submit all jobs or none, and record the submission and the acknowledgement."""
        for id, call, due in asked:
            submission = call.submission()
            journal.note(
                "asked", job=id, queue=submission.queue, lane=submission.lane,
                key=submission.dedupe or "", wall=due,
            )  # fmt: skip
        try:
            await app.submit_many([call for _, call, _ in asked])
        except FairlaneError as error:
            for id, _, _ in asked:
                journal.note("refused", job=id, key=error.code, text=error.message)
            return None
        for id, _, _ in asked:
            journal.note("acked", job=id)
        return asked[-1][0]

    async def _cancel(self, job: str) -> None:
        journal.note("cancelling", job=job)
        try:
            answer = await app.jobs.handle(job).cancel()
        except FairlaneError as error:
            journal.note("not cancelled", job=job, key=error.code, text=error.message)
        else:
            journal.note("cancelled", job=job, key=answer["state"])

    async def _wait(self, job: str) -> None:
        try:
            async with asyncio.timeout(0.5):
                view = await app.jobs.wait(job)
        except (FairlaneError, TimeoutError):
            return
        journal.note("seen ended", job=job, key=view.state)


async def execute_command(command: dict[str, Any]) -> dict[str, Any]:
    """Execute a command of the driver; a refusal of Fairlane is an answer too."""
    verb, name, named = command["verb"], command["name"], command["named"]
    try:
        match verb:
            case "submit":
                await program.letter.options(id=name).submit()
            case "cancel" | "move":
                await getattr(app.jobs.handle(name), verb)(**named)
            case "drain":
                await app.drain()
            case _:
                await attrgetter(verb)(app)(name, **named)  # such as "queues.pause"
    except FairlaneError as error:
        return {"problem": error.code, "message": error.message}
    return {}


def send_message(**message: Any) -> None:
    sys.stdout.write(json.dumps(message) + "\n")
    sys.stdout.flush()


async def answer_command(line: bytes) -> None:
    command = json.loads(line)
    send_message(number=command["number"], **await execute_command(command))


async def main(*, load: bool) -> None:
    reader = asyncio.StreamReader()
    loop = asyncio.get_running_loop()
    await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), sys.stdin)
    journal.note("started", program=program.PROGRAM)
    async with app:
        send_message(ready=os.getpid())
        loading = asyncio.create_task(Load().run()) if load else None
        async with asyncio.TaskGroup() as answers:
            while line := await reader.readline():
                answers.create_task(answer_command(line))
        if loading is not None:
            loading.cancel()
    journal.note("stopped", program=program.PROGRAM)


if __name__ == "__main__":
    logging.basicConfig(stream=sys.stderr, format="%(process)d %(name)s: %(message)s")
    if "CHAOS_SLOW_SECONDS" in os.environ:
        slow_disk.install(float(os.environ["CHAOS_SLOW_SECONDS"]))
    asyncio.run(main(load="load" in sys.argv[1:]))
