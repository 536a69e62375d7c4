"""Run the program and submit jobs: `python -m chaos.postgres.program_main [load]`.

Commands arrive as JSON lines on its input, each is answered with a line, and the end of the input
stops the program cleanly.
"""

import asyncio
import itertools
import json
import logging
import os
import random
import sys
from operator import attrgetter
from pathlib import Path
from typing import Any

import msgspec

from chaos.postgres import program
from chaos.postgres.ended_job import EndedJob
from chaos.postgres.program import app, journal
from fairlane import FairlaneError
from fairlane.tasks import Call

AGENTS = 6
MAX_LIVE = 40  # per queue; submitting more would only lengthen the drain
LANES = [f"lane-{number}" for number in range(12)]
LARGEST_BATCH = 1_000


class Load:
    """Coroutines that submit and cancel concurrently."""

    def __init__(self) -> None:
        self._full: set[str] = set()
        self._numbers = itertools.count(1)
        self._rng = random.Random(f"{os.environ['CHAOS_SEED']}/{program.PROGRAM}")

    async def run(self) -> None:
        async with asyncio.TaskGroup() as group:
            group.create_task(self._watch())
            for _ in range(AGENTS):
                group.create_task(self._agent())

    async def _watch(self) -> None:
        """Track the queues that have too many live jobs."""
        while True:
            try:
                counts = (await app.snapshot(waiting=1, ended=1)).counts
            except FairlaneError:
                self._full.clear()  # the agents must meet the error themselves
            else:
                self._full = {
                    queue for queue, states in counts.items() if sum(states.values()) > MAX_LIVE
                }
            await asyncio.sleep(0.3)

    async def _agent(self) -> None:
        rng = self._rng
        while True:
            many = 1 if rng.random() < 0.8 else rng.randrange(2, 6)
            calls = [call for call in map(self._call, range(many)) if call is not None]
            job = await self._submit(calls) if calls else None
            if job is not None and rng.random() < 0.05:
                await self._cancel(job)
            await asyncio.sleep(rng.uniform(0.02, 0.25))

    def _call(self, _: int) -> tuple[str, Call[Any]] | None:
        """Return a random call with its id, or None if its queue is full."""
        rng = self._rng
        id = f"{program.PROGRAM}-{next(self._numbers)}"
        queues = ["lanes", "isolated", "rated", "scarce", "quick"]
        queue = rng.choices(queues, [9, 2, 2, 3, 8])[0]
        if queue in self._full:
            return None
        lane = rng.choice(LANES)
        # Most jobs are short; some are long enough to be interrupted by a fault.
        seconds = rng.uniform(0, 0.15) if rng.random() < 0.75 else rng.uniform(0.5, 3)
        match queue:
            case "lanes" if rng.random() < 0.7:
                failures = rng.choice([0, 0, 0, 0, 1, 2])
                return id, program.steady.options(id=id).call(lane, seconds, failures)
            case "lanes":
                return id, program.plain.options(id=id).call(lane, seconds)
            case "isolated":
                lane = LANES[rng.randrange(4)]
                return id, program.isolated.options(id=id).call(lane, 0.1 + seconds)
            case "rated":
                return id, program.rated.options(id=id).call()
            case "scarce":
                return id, program.scarce.options(id=id).call(seconds)
            case _:
                return id, program.quick.options(id=id).call()

    async def _submit(self, asked: list[tuple[str, Call[Any]]]) -> str | None:
        """Submit all jobs or none, and record the submission and the acknowledgement."""
        for id, call in asked:
            submission = call.submission()
            journal.note("asked", job=id, queue=submission.queue, lane=submission.lane)
        try:
            await app.submit_many([call for _, call in asked])
        except FairlaneError as error:
            for id, _ in asked:
                journal.note("refused", job=id, key=error.code, text=error.message)
            return None
        for id, _ in asked:
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


class CommandServer:
    """Execute the commands of the driver on the app."""

    def __init__(self, *, load: bool) -> None:
        self._loading = asyncio.create_task(Load().run()) if load else None

    async def execute_command(self, command: dict[str, Any]) -> dict[str, Any]:
        """Execute a command of the driver; a refusal of Fairlane is an answer too."""
        verb, name, named = command["verb"], command["name"], command["named"]
        try:
            match verb:
                case "quiet":
                    self.quiet()
                case "probe":
                    await program.quick.options(id=name, priority="high").submit()
                case "fill":
                    await self._fill(**named)
                case "drain":
                    await app.drain()
                case "report":
                    await self._report(Path(name))
                case "started_at":
                    found = (await app.jobs.show(name)).started_at
                    return {"value": None if found is None else found.timestamp()}
                case _:
                    await attrgetter(verb)(app)(name, **named)  # such as "queues.pause"
        except FairlaneError as error:
            return {"problem": error.code, "message": error.message}
        return {}

    def quiet(self) -> None:
        if self._loading is not None:
            self._loading.cancel()

    async def _fill(self, jobs: int, seconds: float) -> None:
        """Submit a backlog of jobs."""
        for left in range(jobs, 0, -LARGEST_BATCH):
            calls = [program.waiting.call(seconds) for _ in range(min(left, LARGEST_BATCH))]
            await app.submit_many(calls)

    async def _report(self, path: Path) -> None:
        """Write every ended job to a file, as the history shows it."""
        lines: list[bytes] = []
        cursor: str | None = None
        while True:
            page = await app.jobs.history(limit=1000, cursor=cursor)
            lines += [msgspec.json.encode(EndedJob.of(view)) + b"\n" for view in page.items]
            cursor = page.next
            if cursor is None:
                break
        await asyncio.to_thread(path.write_bytes, b"".join(lines))


def send_message(**message: Any) -> None:
    sys.stdout.write(json.dumps(message) + "\n")
    sys.stdout.flush()


async def main(*, load: bool) -> None:
    reader = asyncio.StreamReader()
    loop = asyncio.get_running_loop()
    await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), sys.stdin)

    async def answer(line: bytes) -> None:
        command = json.loads(line)
        send_message(number=command["number"], **await served.execute_command(command))

    async with app:
        served = CommandServer(load=load)
        send_message(ready=os.getpid())
        async with asyncio.TaskGroup() as answers:
            while line := await reader.readline():
                answers.create_task(answer(line))
        served.quiet()


if __name__ == "__main__":
    logging.basicConfig(
        stream=sys.stderr, level=logging.INFO, format="%(asctime)s %(name)s: %(message)s"
    )
    asyncio.run(main(load="load" in sys.argv[1:]))
