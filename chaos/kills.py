"""Kills at random moments: a program under load, ended by SIGKILL and restarted."""

import asyncio
import time
from collections.abc import Callable
from pathlib import Path

from chaos.result import Result
from chaos.run import Run, wait_until

BEGIN_SECONDS = 60.0
MAX_BYTES = 80_000  # of the journal from one kill to the next, about 550 lines
MAX_SECONDS = 1.0
MIN_ACKNOWLEDGED = 20


async def kills(
    folder: Path, result: Result, *, seed: int, times: int, tick: Callable[[], None],
    slow_seconds: float | None = None,
) -> None:  # fmt: skip
    """Kill `times` times, then let all jobs end and check the journal."""
    run = Run(folder, result, seed=f"kills/{seed}", slow_seconds=slow_seconds)
    try:
        await run.start()
        operator = asyncio.create_task(Operator(run).work())
        while result.counts["kills"] < times:
            before = result.counts["kills"]
            await _round(run)
            for _ in range(result.counts["kills"] - before):
                tick()
            if operator.done():
                operator.result()  # it ends only with an error
        await wait_until(BEGIN_SECONDS, lambda: _acknowledged(run), "acknowledgements")
        operator.cancel()
        await asyncio.gather(operator, return_exceptions=True)
        await run.finish()
    finally:
        await run.close()


def _acknowledged(run: Run) -> bool:
    told = sum(entry.what == "acked" for entry in run.journal.entries())
    return told >= MIN_ACKNOWLEDGED


async def _round(run: Run) -> None:
    """Wait for some activity, kill, restart; sometimes with a standby or an inbox client."""
    rng = run.rng
    await _wait_for_activity(run)
    if rng.random() < 0.3:
        if run.inbox_client is None:
            await run.start_inbox_client()
        else:
            await run.stop_inbox_client()
    victims = list(run.programs)
    if len(victims) > 1 and rng.random() < 0.7:
        victims = [rng.choice(victims)]
    for victim in victims:
        await run.kill(victim)
    wanted = 2 if rng.random() < 0.3 else 1
    while len(run.programs) < wanted:
        # Sometimes it is killed while it starts.
        await run.start(ready=rng.random() < 0.85)


async def _wait_for_activity(run: Run) -> None:
    """Wait for a random amount of activity, so that slow machines are killed at the same points."""
    enough = run.journal.size() + run.rng.randrange(MAX_BYTES)
    until = time.monotonic() + MAX_SECONDS
    while run.journal.size() < enough and time.monotonic() < until:  # noqa: ASYNC110 - others write
        await asyncio.sleep(0.002)


class Operator:
    """Pause, limit, move and cancel jobs while programs are killed."""

    def __init__(self, run: Run) -> None:
        self._run = run
        self._rng = run.rng
        self._letters: dict[str, None] = {}  # all that have begun, in order
        self._read_to = 0

    async def work(self) -> None:
        async with asyncio.TaskGroup() as group:
            group.create_task(self._change_limits())
            group.create_task(self._pause("turns", longest=6.0))
            group.create_task(self._pause("lanes", longest=1.5))
            group.create_task(self._reorder_queues())

    async def _change_limits(self) -> None:
        while True:
            most = self._rng.randrange(1, 7)
            await self._run.command(
                "queues.set", "lanes", "max_concurrent", most, max_concurrent=most
            )
            self._run.result.count("limits changed")
            await asyncio.sleep(self._rng.uniform(2, 8))

    async def _pause(self, queue: str, *, longest: float) -> None:
        while True:
            await asyncio.sleep(self._rng.uniform(0.5, 6))
            await self._run.command("queues.pause", queue, "pause", 1)
            await asyncio.sleep(self._rng.uniform(0.2, longest))
            await self._run.command("queues.resume", queue, "pause", 0)
            self._run.result.count("pauses")

    async def _reorder_queues(self) -> None:
        number = 0
        while True:
            number += 1
            await self._reorder_queue(f"desk-{number}")

    async def _reorder_queue(self, desk: str) -> None:
        """Submit jobs to a paused queue, move them, and check the order in which they begin."""
        run, rng = self._run, self._rng
        await run.command("queues.pause", "desk", "pause", 1)
        order: list[str] = []
        for number in range(6):
            letter = f"{desk}-{number}"
            run.journal.note("asked", job=letter, queue="desk")
            await run.command_until_acknowledged("submit", letter)
            run.journal.note("acked", job=letter)
            order.append(letter)
        for _ in range(4):
            await self._move(order)
        cancelled = rng.choice(order)
        run.journal.note("cancelling", job=cancelled)
        await run.command_until_acknowledged("cancel", cancelled)
        run.journal.note("cancelled", job=cancelled, key="cancelled")
        order.remove(cancelled)
        await asyncio.sleep(rng.uniform(0, 1.5))  # for a kill or two
        await run.command("queues.resume", "desk", "pause", 0)
        await wait_until(
            BEGIN_SECONDS, lambda: len(self._begun(desk)) == len(order), f"all of {desk}"
        )
        found = self._begun(desk)
        problems = [] if found == order else [f"moved into the order {order}, begun as {found}"]
        run.result.found("desks in another order", problems)
        run.result.count("desks sorted")

    async def _move(self, order: list[str]) -> None:
        rng = self._rng
        letter, other = rng.sample(order, 2)
        order.remove(letter)
        where = rng.choice(["head", "tail", "before", "after"])
        if where in ("head", "tail"):
            order.insert(0 if where == "head" else len(order), letter)
            await self._run.command_until_acknowledged("move", letter, to=where)
        else:
            order.insert(order.index(other) + (where == "after"), letter)
            await self._run.command_until_acknowledged("move", letter, **{where: other})

    def _begun(self, desk: str) -> list[str]:
        """Return the jobs of a batch in the order in which they first began."""
        entries = self._run.journal.entries()
        for entry in entries[self._read_to :]:  # the journal is long, and this is called often
            if entry.what == "begin" and entry.queue == "desk":
                self._letters.setdefault(entry.job)
        self._read_to = len(entries)
        return [letter for letter in self._letters if letter.startswith(f"{desk}-")]
