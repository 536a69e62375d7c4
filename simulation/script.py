"""A script of user steps; a step without an answer is repeated."""

import asyncio
from collections.abc import Callable, Coroutine, Sequence
from typing import Any

from fairlane import Priority
from simulation.clock import WallClock
from simulation.host import Host
from simulation.journal import Submission
from simulation.program import KINDS, Plan
from simulation.recording_client import RecordingClient

Step = Callable[["Script"], Coroutine[Any, Any, bool]]
Steps = Sequence[Step]


class Script:
    """Run steps in order, and resume at the first step without an answer."""

    def __init__(self, steps: Steps) -> None:
        self._steps = steps
        self.position = 0
        self.closed = False  # the process was stopped once
        self.jobs: dict[str, list[Submission]] = {}
        self.client: RecordingClient
        self.host: Host
        self.wall: WallClock

    @property
    def needs_two(self) -> bool:
        return any(getattr(step, "needs_two", False) for step in self._steps)

    async def play(
        self, client: RecordingClient, host: Host, wall: WallClock, done: asyncio.Event
    ) -> None:
        self.client, self.host, self.wall = client, host, wall
        while self.position < len(self._steps):
            if await self._steps[self.position](self):
                self.position += 1
        done.set()

    def job(self, name: str) -> Submission:
        return self.jobs[name][0]


def submit(
    kind: str,
    *,
    name: str = "",
    count: int = 1,
    lane: str | None = None,
    key: str | None = None,
    priority: Priority = Priority.NORMAL,
    after: float | None = None,
    on: Sequence[str] = (),
    seconds: Sequence[float] = (0.5,),
    ends: Sequence[str] = ("ok",),
) -> Step:
    """Submit jobs of one kind together; repeat with the same ids until an answer is received."""

    async def step(script: Script) -> bool:
        title = name or f"{kind}-{script.position}"
        if title not in script.jobs:
            script.jobs[title] = [
                script.client.plan(
                    KINDS[kind], Plan(list(seconds), list(ends)), lane=lane, key=key,
                    priority=priority,
                    run_at=None if after is None else script.wall.now() + after,
                    depends_on=[script.job(other).id for other in on],
                )
                for _ in range(count)
            ]  # fmt: skip
        return await script.client.submit(script.jobs[title])

    return step


def wait(name: str) -> Step:
    """Wait until all jobs of a name have ended."""

    async def step(script: Script) -> bool:
        return all(
            [
                await script.client.wait(submission)
                for submission in script.jobs[name]
                if submission.accepted
            ]
        )

    return step


def sleep(seconds: float) -> Step:
    async def step(script: Script) -> bool:
        await asyncio.sleep(seconds)
        return True

    return step


def command_job(verb: str, name: str, **values: Any) -> Step:
    """Cancel, skip, move, prioritize, retry or rerun a job."""

    async def step(script: Script) -> bool:
        command = await getattr(script.client, verb)(script.job(name), **values)
        return bool(command.problem != "unknown")

    return step


def configure(verb: str, *subject: Any, **values: Any) -> Step:
    """Pause, resume or change a setting, or fire a schedule."""

    async def step(script: Script) -> bool:
        command = await getattr(script.client, verb)(*subject, **values)
        return bool(command.problem != "unknown")

    return step


def move_next_to(name: str, other: str, *, where: str) -> Step:
    """Move a job before or after another."""

    async def step(script: Script) -> bool:
        command = await script.client.move(script.job(name), **{where: script.job(other).id})
        return command.problem != "unknown"

    return step


def explain(name: str) -> Step:
    async def step(script: Script) -> bool:
        await script.client.explain(script.job(name))
        return True

    return step


def close() -> Step:
    """Stop the process as SIGTERM does, once; the script continues in the next process."""

    async def step(script: Script) -> bool:
        if not script.closed:
            script.closed = True
            script.host.close()
            await asyncio.sleep(1e6)
        return True

    return step


def set_clock(seconds: float) -> Step:
    async def step(script: Script) -> bool:
        script.client.jump(seconds)
        return True

    return step


def with_standby() -> Step:
    """Run a second process as standby, which takes over when the first one dies."""

    async def step(script: Script) -> bool:
        return True

    step.needs_two = True  # type: ignore[attr-defined]
    return step
