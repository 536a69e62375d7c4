"""Random stories: a step is a few small numbers, which each world maps to inputs."""

import copy
from typing import Any

from fairlane.core.inputs import (
    Cancel,
    ChangeSetting,
    EnterStage,
    Failure,
    Input,
    LeaveStage,
    Move,
    Pause,
    Prioritize,
    Resume,
    RetryJob,
    Skip,
    Submit,
    Unblocked,
    WorkerGone,
    WorkerJoined,
)
from fairlane.core.lifecycle import Priority, State
from fairlane.core.live_job import Reason, WorkerId
from fairlane.core.retry import Retry
from tests.support.core import World, job

Step = tuple[int, int, int, int]

SHAPES: list[dict[str, Any]] = [
    {},
    {"limits": ["api"]},
    {"limits": ["host:a"]},
    {"uses": {"gpu": 1}},
    {"uses": {"gpu": 2}},
    {"limits": ["api"], "uses": {"gpu": 1}},
    {"limits": ["host:b", "api"]},
    {"retry": Retry(times=2, first_seconds=5)},
    {"retry": Retry(times=1, first_seconds=30), "hold_lane": False},
    {"requires": ["x"]},
    {"task": "other", "recover": 0},
    {"uses": {"gpu": 1, "net": 2}},
]


class Story:
    """Turns steps into inputs; two worlds in the same state get the same inputs."""

    def __init__(self, world: World, *, serial: int = 0, queues: tuple[str, ...] = ("q",)) -> None:
        self.world = world
        self.queues = queues
        self.serial = serial
        self.tokens: dict[str, EnterStage] = {}

    def apply(self, steps: list[Step]) -> list[Input]:
        """Apply a few steps as one batch and return their inputs."""
        inputs: list[Input] = []
        for step in steps:
            inputs += self.inputs(*step)
        self.world.apply(*inputs)
        return inputs

    def _pick(self, states: set[State], number: int) -> Any:
        live = self.world.scheduler.board.jobs
        ids = sorted(id for id, job in live.items() if job.state in states)
        return live[ids[number % len(ids)]] if ids else None

    def _new(self, a: int, b: int, c: int, **about: Any) -> Any:
        self.serial += 1
        lane = None if a % 4 == 3 else f"lane{a % 4}"
        shape = SHAPES[c % len(SHAPES)]
        about = {**shape, "queue": self.queues[(a + b) % len(self.queues)], **about}
        if b % 11 == 10:
            about["run_at"] = self.world.now + 7
        if b % 13 == 12:
            about["dedupe"] = f"key{a % 2}"
        return job(f"j{self.serial:04}", lane=lane, priority=Priority(b % 3), **about)

    def inputs(self, kind: int, a: int, b: int, c: int) -> list[Input]:
        world = self.world
        running = self._pick({State.RUNNING}, a)
        waiting = self._pick(set(State) - {State.RUNNING}, a)
        match kind:
            case 0 | 1:
                return [Submit("k", [self._new(a, b, c)])]
            case 2:
                return [Submit("k", [self._new(a + i, b, c + i) for i in range(b % 4)])]
            case 3:
                after = [j.id for j in (running, waiting) if j is not None]
                if b % 2:
                    return [Submit("k", [self._new(a, b, c, after=after[:1], run_anyway=True)])]
                return [Submit("k", [self._new(a, b, c, after=after)])]
            case 4 | 5 | 6 if running is not None:
                return [world.outcome(running.id, "completed", value="null")]
            case 7 if running is not None:
                failure = Failure("timeout", "late", retryable=b % 3 != 0)
                return [world.outcome(running.id, "failed", failure=failure)]
            case 8 if running is not None:
                blocked = Reason("disk", "full") if b % 2 else None
                refused: list[Input] = [world.outcome(running.id, "refused", blocked=blocked)]
                back = world.workers.get(running.worker)
                return [*refused, copy.copy(back)] if c % 2 and back is not None else refused
            case 9 if running is not None:
                return [world.outcome(running.id, "returned")]
            case 10:
                chosen = waiting if b % 2 else running
                return [Cancel("k", chosen.id)] if chosen is not None else []
            case 11:
                world.now += (1, 3, 10, 61, 700)[b % 5]
                return []
            case 12 if waiting is not None:
                other = self._pick(set(State), b)
                ways: list[Any] = [{"to": "head"}, {"to": "tail"}, {"before": other.id},
                                   {"after": other.id}]  # fmt: skip
                return [Move("k", waiting.id, **ways[c % 4])]
            case 13 if waiting is not None:
                return [Prioritize("k", waiting.id, Priority(b % 3))]
            case 14:
                return [Pause("k", "q") if b % 3 == 0 else Resume("k", "q")]
            case 15:
                most = {"max_concurrent": (None, 1, 2, 5)[b % 4]}
                return [ChangeSetting("k", "queue", "q", "operator", most)]
            case 16:
                if b % 2:
                    return [ChangeSetting("k", "rate", "api", "operator", {"starts": c % 4})]
                return [ChangeSetting("k", "resource", "gpu", "operator", {"amount": c % 4})]
            case 17:
                id = sorted(world.workers)[a % len(world.workers)]
                joined = world.workers.pop(id)
                fresh = WorkerJoined(WorkerId(id + "'"), id, joined.slots, labels=joined.labels)
                world.workers[fresh.id] = fresh
                return [WorkerGone(WorkerId(id)), copy.copy(fresh)]
            case 18:
                ids = sorted(world.store.ended)
                if not ids:
                    return []
                place: Any = ("head", "tail")[b % 2]
                return [RetryJob("k", ids[a % len(ids)], place)]
            case 19 if running is not None:
                self.serial += 1
                token = f"t{self.serial}"
                shape = SHAPES[c % 7]
                uses = tuple(shape.get("uses", {}).items())
                limits = tuple(shape.get("limits", ()))
                self.tokens[token] = EnterStage(
                    running.id, running.worker, running.fence, token, limits, uses
                )
                return [copy.copy(self.tokens[token])]
            case 20 if self.tokens:
                token = sorted(self.tokens)[a % len(self.tokens)]
                stage = self.tokens.pop(token)
                return [LeaveStage(stage.job, stage.worker, stage.fence, token)]
            case 21:
                blocked_job = self._pick({State.BLOCKED}, a)
                if blocked_job is None:
                    return []
                return [Unblocked(blocked_job.id, blocked_job.fence)]
            case 22 if waiting is not None:
                return [Skip("k", waiting.id)]
            case 23:
                known = sorted({*world.store.jobs, *world.store.ended})
                after = [known[b % len(known)]] if known else []
                return [Submit("k", [self._new(a, b, c, after=after)])]
            case _:
                return []


def a_world(*, order: str = "fifo", on_conflict: str = "queue", two_workers: bool = True) -> World:
    """Return a world with small workers, two limits and two resources."""
    world = World(slots=0, order=order, on_conflict=on_conflict, starvation_picks=2)
    world.limit("api", 2, 10)
    world.limit("host", 1, 5)
    world.resource("gpu", 2)
    world.resource("net", 3)
    world.join("w1", slots=3, labels=("x",))
    if two_workers:
        world.join("w2", slots=2)
    return world
