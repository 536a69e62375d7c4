"""A decision costs O(log n) for any backlog, counted in function calls, not in seconds."""

import sys
from collections import Counter
from collections.abc import Callable
from types import FrameType
from typing import Any

from fairlane.core.inputs import ChangeSetting, Input, Outcome, Submission, Submit, WorkerJoined
from fairlane.core.live_job import JobId, Terms, WorkerId
from fairlane.core.scheduler import Scheduler
from tests.support.core import job

MANY = 10_000


def calls(function: Callable[[], object]) -> Counter[str]:
    """Count the calls of the core's functions, by name."""
    counted: Counter[str] = Counter()

    def count(frame: FrameType, event: str, _: Any) -> None:
        if event == "call" and "fairlane" in frame.f_code.co_filename:
            counted[frame.f_code.co_name] += 1

    sys.setprofile(count)
    try:
        function()
    finally:
        sys.setprofile(None)
    return counted


class Plain:
    """A scheduler without a store, so that only the scheduler is measured."""

    def __init__(self, *, slots: int = 1000, **settings: Any) -> None:
        self.scheduler = Scheduler()
        self.apply(
            ChangeSetting("", "queue", "q", "code", settings),
            ChangeSetting("", "rate", "api", "code", {"starts": 1, "per_seconds": 60}),
            ChangeSetting("", "resource", "gpu", "code", {"amount": 1}),
            WorkerJoined(WorkerId("w"), "w", slots),
        )

    def apply(self, *inputs: Input, now: float = 1000.0) -> Any:
        return self.scheduler.apply(list(inputs), now)

    def submit(self, jobs: list[Submission]) -> Any:
        return self.apply(Submit("", jobs))

    def finish(self, id: str) -> Any:
        running = self.scheduler.board.jobs[JobId(id)]
        assert running.worker is not None
        return self.apply(Outcome(running.id, running.worker, running.fence, "completed"))


def test_a_hundred_thousand_rate_limited_jobs_in_front_cost_one_look() -> None:
    plain = Plain()
    limited = Terms(limits=("api",))
    front = [
        Submission(id=JobId(f"j{n}"), task="noop", queue="q", terms=limited) for n in range(100_000)
    ]
    assert len(plain.submit(front).starts) == 1
    counted = calls(lambda: plain.submit([job("free")]))
    assert plain.scheduler.board.jobs[JobId("free")].state == "running"
    assert counted["obstacle"] <= 3
    assert sum(counted.values()) < 200
    counted = calls(lambda: plain.apply(now=1060.0))
    assert sum(counted.values()) < 200


def test_a_release_looks_at_few_of_the_many_different_demands_that_wait_for_it() -> None:
    plain = Plain()
    plain.submit([job(f"j{n}", task=f"t{n}", uses={"gpu": 1}) for n in range(MANY)])
    counted = calls(lambda: plain.finish("j0"))
    assert plain.scheduler.board.jobs[JobId("j1")].state == "running"
    assert counted["obstacle"] <= 4
    assert counted["head_of"] <= 8
    assert sum(counted.values()) < 200


def test_a_backlog_behind_max_concurrent_adds_no_calls() -> None:
    plain = Plain(max_concurrent=1)
    plain.submit([job(f"j{n}", task=f"t{n % 100}", lane=f"l{n % 1000}") for n in range(MANY)])
    counted = calls(lambda: plain.finish("j0"))
    assert len(plain.scheduler.board.queues["q"].running) == 1
    assert sum(counted.values()) < 200


def test_a_long_lane_costs_no_more_than_a_short_one() -> None:
    plain = Plain()
    plain.submit([job(f"j{n}", lane="l") for n in range(MANY)])
    counted = calls(lambda: plain.finish("j0"))
    assert plain.scheduler.board.jobs[JobId("j1")].state == "running"
    assert sum(counted.values()) < 200


def test_turns_cost_the_same_however_much_stands_in_a_bucket() -> None:
    plain = Plain(order="round_robin", max_concurrent=1)
    plain.submit([job(f"j{n}", bucket=f"b{n % 2}") for n in range(MANY)])
    for id in ("j0", "j1", "j2"):
        counted = calls(lambda id=id: plain.finish(id))  # type: ignore[misc]
        assert sum(counted.values()) < 200
    assert plain.scheduler.board.jobs[JobId("j3")].state == "running"


def test_a_strict_queue_looks_at_its_head_only() -> None:
    plain = Plain(order="strict", max_concurrent=2)
    plain.submit([job(f"j{n}", limits=["api"]) for n in range(MANY)])
    counted = calls(lambda: plain.apply())
    assert counted["obstacle"] <= 1
    assert sum(counted.values()) < 50


def test_many_waits_for_one_window_set_one_alarm() -> None:
    plain = Plain()
    plain.submit([job(f"j{n}", task=f"t{n}", limits=["api"]) for n in range(1000)])
    assert len(plain.scheduler.board.rate_alarms) == 1


def test_the_board_is_empty_when_all_jobs_have_ended() -> None:
    plain = Plain(slots=10)
    out = plain.submit(
        [job(f"j{n}", task=f"t{n}", lane=f"l{n % 7}", dedupe=f"d{n}") for n in range(200)]
    )
    while out.starts:
        out = plain.apply(
            *(Outcome(s.job, s.worker, s.fence, "completed", value="null") for s in out.starts)
        )
    board = plain.scheduler.board
    assert not board.jobs
    assert not board.lanes
    assert not board.dedupe
    assert not board.queues["q"].demands
    assert not board.queues["q"].running
    assert not any(board.queues["q"].waiting_in.values())
