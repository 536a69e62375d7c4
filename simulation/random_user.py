"""A user that sends random commands, one after another."""

import asyncio
from collections.abc import Callable, Coroutine
from random import Random
from typing import Any

from fairlane import Priority
from simulation.clock import WallClock
from simulation.host import Host
from simulation.journal import Journal, Submission
from simulation.program import KEYS, KINDS, LANES, LIMITS, QUEUES, RESOURCES, Kind, Plan
from simulation.recording_client import RecordingClient

_SUBMITTED = tuple(kind for kind in KINDS.values() if kind.name != "tick")
_WAIT_SECONDS = 20.0

Action = Callable[[], Coroutine[Any, Any, Any]]


class RandomUser:
    def __init__(
        self, host: Host, journal: Journal, wall: WallClock, random: Random, *, pause: float
    ) -> None:
        self._client = RecordingClient(host, journal, wall)
        self._journal = journal
        self._wall = wall
        self._random = random
        self._pause = pause
        self._actions: list[tuple[float, Action]] = [
            (10, self._submit), (2, self._submit_many), (2, self._cancel), (1.5, self._move),
            (1, self._prioritize), (0.7, self._skip), (1, self._retry), (0.7, self._pause_queue),
            (1.2, self._resume), (1, self._set_max_concurrent), (0.5, self._set_rate),
            (0.5, self._set_amount), (2, self._explain), (0.3, self._client.fire),
            (0.1, self._client.pause_schedule), (0.3, self._client.resume_schedule),
            (0.3, self._rerun), (1, self._wait),
        ]  # fmt: skip

    async def run(self) -> None:
        weights = [weight for weight, _ in self._actions]
        while True:
            await asyncio.sleep(self._random.expovariate(1 / self._pause))
            [(_, action)] = self._random.choices(self._actions, weights)
            await action()

    # submitting

    async def _submit(self) -> None:
        await self._send_until_answered([self._new(self._random.choice(_SUBMITTED))])

    async def _submit_many(self) -> None:
        kinds = [kind for kind in _SUBMITTED if kind.queue not in ("single", "merged")]
        kind = self._random.choice(kinds)
        await self._send_until_answered(
            [self._new(kind, simple=True) for _ in range(self._random.randint(2, 12))]
        )

    async def _send_until_answered(self, batch: list[Submission]) -> None:
        """Submit the same batch again without an answer, or give up at random."""
        while not await self._client.submit(batch) and self._random.random() < 0.5:
            pass

    def _new(self, kind: Kind, *, simple: bool = False) -> Submission:
        random = self._random
        run_at = None
        depends_on: list[str] = []
        if not simple and random.random() < 0.15:
            run_at = self._wall.now() + random.uniform(0.5, 30)
        if not simple and random.random() < 0.1:
            known = [
                submission.id
                for submission in self._journal.submissions.values()
                if submission.accepted
            ][-20:]
            depends_on = random.sample(known, min(len(known), 2))
        return self._client.plan(
            kind,
            self._plan(kind),
            lane=random.choice(LANES) if kind.has_lane else None,
            key=random.choice(KEYS) if kind.has_key or kind.writes else None,
            priority=random.choice((Priority.HIGH, Priority.NORMAL, Priority.NORMAL, Priority.LOW)),
            run_at=run_at,
            depends_on=depends_on,
        )

    def _plan(self, kind: Kind) -> Plan:
        random = self._random
        if kind.name == "merged" and random.random() < 0.7:
            return Plan([2.0], ["ok"])  # equal to others, so that they can be merged
        length = random.choice((0.0, 0.1, 1.0, 5.0))
        seconds = [round(random.uniform(0, length), 3) for _ in range(3)]
        ends = [random.choice(("ok",) * 6 + ("again", "again", "final")) for _ in range(3)]
        if random.random() < 0.05:
            ends[0] = "stubborn"
        if (kind.timeout_seconds or kind.stall_seconds) and random.random() < 0.3:
            ends[0] = "hang"
        return Plan(seconds, ends)

    # commands

    def _some(self, *, waiting: bool = False) -> Submission | None:
        known = [
            submission for submission in self._journal.submissions.values() if submission.accepted
        ]
        if waiting:
            known = [
                submission for submission in known if submission.id not in self._journal.runs_of_job
            ]
        return self._random.choice(known[-30:]) if known else None

    async def _cancel(self) -> None:
        if (submission := self._some()) is not None:
            await self._client.cancel(submission)

    async def _skip(self) -> None:
        if (submission := self._some(waiting=True)) is not None:
            await self._client.skip(submission)

    async def _move(self) -> None:
        if (submission := self._some(waiting=True)) is None:
            return
        beside = self._some(waiting=True)
        if beside is not None and beside is not submission and self._random.random() < 0.4:
            await self._client.move(
                submission, **{self._random.choice(("before", "after")): beside.id}
            )
        else:
            await self._client.move(submission, to=self._random.choice(("head", "head", "tail")))

    async def _prioritize(self) -> None:
        if (submission := self._some(waiting=True)) is not None:
            await self._client.prioritize(submission, self._random.choice(list(Priority)))

    def _some_ended(self, *states: str) -> Submission | None:
        ended = [
            self._journal.submissions[job]
            for job, (state, _) in self._journal.ends.items()
            if job in self._journal.submissions and (not states or state in states)
        ]
        return self._random.choice(ended) if ended else None

    async def _retry(self) -> None:
        if (submission := self._some_ended("failed", "cancelled")) is not None:
            await self._client.retry(submission)

    async def _rerun(self) -> None:
        if (submission := self._some_ended()) is not None:
            await self._client.rerun(submission)

    async def _pause_queue(self) -> None:
        queue = self._random.choice(list(QUEUES))
        await self._client.pause(queue, after_current=self._random.random() < 0.5)

    async def _resume(self) -> None:
        for queue, line in self._journal.paused.items():
            if line.possible_values(self._journal.now()) != {None}:
                await self._client.resume(queue)

    async def _set_max_concurrent(self) -> None:
        queue = self._random.choice(["line", "rounds", "strict"])
        await self._client.set_max_concurrent(queue, self._random.randint(1, 4))

    async def _set_rate(self) -> None:
        await self._client.set_rate(self._random.choice(list(LIMITS)), self._random.randint(1, 4))

    async def _set_amount(self) -> None:
        name = self._random.choice(list(RESOURCES))
        await self._client.set_amount(name, self._random.randint(1, 3))

    # queries

    async def _explain(self) -> None:
        if (submission := self._some(waiting=self._random.random() < 0.8)) is not None:
            await self._client.explain(submission)

    async def _wait(self) -> None:
        """Wait a limited time for a job; the received end must agree with the journal."""
        if (submission := self._some()) is not None:
            try:
                async with asyncio.timeout(_WAIT_SECONDS):
                    await self._client.wait(submission)
            except TimeoutError:
                pass
