"""Kills at random moments: a program under load, ended by SIGKILL and started again."""

import asyncio
import time
from collections.abc import Callable
from pathlib import Path

from chaos.result import Result
from chaos.run import Run, within

BEGIN_SECONDS = 60.0
MOST_BYTES = 80_000  # of the journal from one kill to the next, about 550 lines
MOST_SECONDS = 1.0
FEWEST_ACKNOWLEDGED = 20


async def kills(
    folder: Path, result: Result, *, seed: int, times: int, tick: Callable[[], None],
    slow_seconds: float | None = None,
) -> None:  # fmt: skip
    """Kill so many times, then let everything come to its end and judge."""
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
                operator.result()  # it only ends by an error
        await within(BEGIN_SECONDS, lambda: _acknowledged(run), "anything to be acknowledged")
        operator.cancel()
        await asyncio.gather(operator, return_exceptions=True)
        await run.finish()
    finally:
        await run.close()


def _acknowledged(run: Run) -> bool:
    told = sum(entry.what == "acked" for entry in run.journal.entries())
    return told >= FEWEST_ACKNOWLEDGED


async def _round(run: Run) -> None:
    """Let it run for a while, kill, start again; sometimes with a standby, or with an outsider."""
    chance = run.chance
    await _some_more_has_happened(run)
    if chance.random() < 0.3:
        if run.outsider is None:
            await run.start_outsider()
        else:
            await run.stop_outsider()
    victims = list(run.programs)
    if len(victims) > 1 and chance.random() < 0.7:
        victims = [chance.choice(victims)]
    for victim in victims:
        await run.kill(victim)
    wanted = 2 if chance.random() < 0.3 else 1
    while len(run.programs) < wanted:
        # Now and then it is killed while it starts.
        await run.start(ready=chance.random() < 0.85)


async def _some_more_has_happened(run: Run) -> None:
    """Wait for a random moment: by what happens, so that a slow machine is killed at it too."""
    enough = run.journal.size() + run.chance.randrange(MOST_BYTES)
    until = time.monotonic() + MOST_SECONDS
    while run.journal.size() < enough and time.monotonic() < until:  # noqa: ASYNC110 - others write
        await asyncio.sleep(0.002)


class Operator:
    """Somebody who pauses, limits, moves and cancels while programs die."""

    def __init__(self, run: Run) -> None:
        self._run = run
        self._chance = run.chance
        self._letters: dict[str, None] = {}  # all that have begun, in that order
        self._read_to = 0

    async def work(self) -> None:
        async with asyncio.TaskGroup() as group:
            group.create_task(self._change_limits())
            group.create_task(self._pause("turns", longest=6.0))
            group.create_task(self._pause("lanes", longest=1.5))
            group.create_task(self._sort_desks())

    async def _change_limits(self) -> None:
        while True:
            most = self._chance.randrange(1, 7)
            await self._run.command(
                "queues.set", "lanes", "max_concurrent", most, max_concurrent=most
            )
            self._run.result.count("limits changed")
            await asyncio.sleep(self._chance.uniform(2, 8))

    async def _pause(self, queue: str, *, longest: float) -> None:
        while True:
            await asyncio.sleep(self._chance.uniform(0.5, 6))
            await self._run.command("queues.pause", queue, "pause", 1)
            await asyncio.sleep(self._chance.uniform(0.2, longest))
            await self._run.command("queues.resume", queue, "pause", 0)
            self._run.result.count("pauses")

    async def _sort_desks(self) -> None:
        number = 0
        while True:
            number += 1
            await self._sort_desk(f"desk-{number}")

    async def _sort_desk(self, desk: str) -> None:
        """Put letters on a paused desk, move them about, and see in which order they go out."""
        run, chance = self._run, self._chance
        await run.command("queues.pause", "desk", "pause", 1)
        order: list[str] = []
        for number in range(6):
            letter = f"{desk}-{number}"
            run.journal.note("asked", job=letter, queue="desk")
            await run.persistently("submit", letter)
            run.journal.note("acked", job=letter)
            order.append(letter)
        for _ in range(4):
            await self._move(order)
        cancelled = chance.choice(order)
        run.journal.note("cancelling", job=cancelled)
        await run.persistently("cancel", cancelled)
        run.journal.note("cancelled", job=cancelled, key="cancelled")
        order.remove(cancelled)
        await asyncio.sleep(chance.uniform(0, 1.5))  # for a kill or two
        await run.command("queues.resume", "desk", "pause", 0)
        await within(BEGIN_SECONDS, lambda: len(self._begun(desk)) == len(order), f"all of {desk}")
        found = self._begun(desk)
        problems = [] if found == order else [f"moved into the order {order}, begun as {found}"]
        run.result.found("desks in another order", problems)
        run.result.count("desks sorted")

    async def _move(self, order: list[str]) -> None:
        chance = self._chance
        letter, other = chance.sample(order, 2)
        order.remove(letter)
        where = chance.choice(["head", "tail", "before", "after"])
        if where in ("head", "tail"):
            order.insert(0 if where == "head" else len(order), letter)
            await self._run.persistently("move", letter, to=where)
        else:
            order.insert(order.index(other) + (where == "after"), letter)
            await self._run.persistently("move", letter, **{where: other})

    def _begun(self, desk: str) -> list[str]:
        """The letters of a desk in the order in which they first began."""
        entries = self._run.journal.entries()
        for entry in entries[self._read_to :]:  # it is long, and this is asked often
            if entry.what == "begin" and entry.queue == "desk":
                self._letters.setdefault(entry.job)
        self._read_to = len(entries)
        return [letter for letter in self._letters if letter.startswith(f"{desk}-")]
