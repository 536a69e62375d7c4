"""The same random steps run on an app in memory, an app on a file and a naive model.

After every step the two apps must show the same state and events, and the state of the model.
`FAIRLANE_EXAMPLES=2000` runs that many random stories instead of the same few in each run.
"""

import asyncio
import itertools
import os
import shutil
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import fields
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final, Literal

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)

from fairlane import Priority
from fairlane.core.queues import QueueChanges
from fairlane.testing import START
from tests.support.stateful_app import Complaints, StoryApp
from tests.support.stateful_disks import MemoryDisk, SQLiteDisk
from tests.support.stateful_model import Model
from tests.support.stateful_side import OUR_IDS, Side, difference
from tests.support.stateful_wishes import LANES, PRIORITIES, QUEUES, TASKS, PriorityLevel, Wish

EXAMPLES: Final = os.environ.get("FAIRLANE_EXAMPLES")
STEPS: Final = 30
MOST_STEPS_TO_THE_END: Final = 200
NOBODY: Final = "nobody"
_SCARCE: Final = ("metered", "light", "heavy")

# Most steps of a story use one queue; otherwise no queue would get a backlog.
_queues = st.runner().flatmap(lambda machine: st.sampled_from([machine.home] * 5 + [*QUEUES]))


def _ids(kind: str) -> st.SearchStrategy[str]:
    """Draw the id of a job of a kind in `Stores.of_kind`; if there is none, of any job."""
    return st.runner().flatmap(
        lambda machine: st.sampled_from(machine.of_kind(kind) or machine.of_kind("any"))
    )


def _mostly(kind: str) -> st.SearchStrategy[str]:
    """Draw the id of a job of this kind, and sometimes of any job."""
    return st.one_of(_ids(kind), _ids(kind), _ids(kind), _ids("any"))


def _if_any(kind: str) -> Callable[[Callable[..., None]], Callable[..., None]]:
    return precondition(lambda machine: bool(machine.of_kind(kind)))


@st.composite
def _wishes(draw: st.DrawFn) -> dict[str, Any]:
    """Draw the options of a submission; `depends_on` counts back from the newest job."""
    task = draw(st.sampled_from(["plain", "plain", *TASKS]))
    wish = {
        "task": task,
        # Two queues that use the same limit or resource take turns, which the model does not have.
        "queue": "main" if task in _SCARCE else draw(st.sampled_from(["home"] * 4 + [*QUEUES])),
        "lane": draw(st.sampled_from([None, None, *LANES])),
        "priority": draw(st.sampled_from(["normal", *PRIORITIES])),
        "dedupe": draw(st.sampled_from([None] * 6 + ["k"])),
        "wait_seconds": draw(st.sampled_from([None, None, None, None, 0, 10])),
        "depends_on": draw(st.sampled_from([()] * 16 + [(1,), (2,), (1, 3)] * 2 + [(0,), (99,)])),
        "run_anyway": draw(st.booleans()),
        "kind": draw(st.sampled_from(["start", "continue"])),
        "text": draw(st.sampled_from("xy")),
    }
    usual = {field.name: field.default for field in fields(Wish)}
    return {name: value for name, value in wish.items() if value != usual[name]}


class Stores(RuleBasedStateMachine):
    def __init__(
        self, apps: tuple[StoryApp, StoryApp], folder: Path, complaints: Complaints
    ) -> None:
        super().__init__()
        self._runner = asyncio.Runner()
        self._complaints = complaints
        complaints.heard.clear()
        self._folder = folder
        folder.mkdir()
        self.sides = (Side(apps[0], MemoryDisk()), Side(apps[1], SQLiteDisk(folder / "work.db")))
        self.model = Model(START)
        self.home = "main"
        self._agreed = False  # true after a step has been compared
        self._serial = 0
        self._each(Side.open)

    def teardown(self) -> None:
        try:
            if self._agreed:
                self._let_everything_end()
        finally:
            self._close()

    def _close(self) -> None:
        self._each(Side.close)
        self._runner.close()
        shutil.rmtree(self._folder)
        assert self._complaints.heard == []

    def _each(self, what: Callable[[Side], Awaitable[Any]]) -> list[Any]:
        """Run a call on both sides and return the two results."""

        async def both() -> list[Any]:
            return await asyncio.gather(*(what(side) for side in self.sides))

        self._agreed = False
        return self._runner.run(both())

    def _tell(self, what: Callable[[Side], Awaitable[Any]]) -> Any:
        """Send the same command to both sides and return the answer, which must be the same."""
        memory, sqlite = self._each(lambda side: side.answer(what(side)))
        assert memory == sqlite, difference(memory, sqlite)
        return memory

    def _expect(self, answer: Any, code: str | None) -> None:
        """Compare the error code of an answer with the code that the model returns."""
        assert (answer.get("code") if isinstance(answer, dict) else None) == code, answer

    def of_kind(self, kind: str) -> list[str]:
        jobs = self.model.jobs
        match kind:
            case "any":
                return [NOBODY, *jobs]
            case "in line":
                lines = self.model.lines.values()
                return [job.wish.id for line in lines for job in line if job.state != "running"]
            case "to be tried again":
                running = [id for id, job in jobs.items() if job.state == "running"]
                return [id for id in running if jobs[id].option("retry", None) is not None]
            case "live":
                return [id for id, job in jobs.items() if job.is_live]
            case "ended":
                return [id for id, job in jobs.items() if not job.is_live]
            case _:
                return [id for id, job in jobs.items() if job.state == kind]

    def _new_id(self) -> str:
        self._serial += 1
        return f"{OUR_IDS}{self._serial:02}"

    # submitting

    # Hypothesis leaves out some rules in each story, so the rules that each story needs occur
    # under several names.

    @initialize(
        home=st.sampled_from(["main", *QUEUES]), wishes=st.lists(_wishes(), min_size=5, max_size=8)
    )
    def begin(self, home: str, wishes: list[dict[str, Any]]) -> None:
        self.home = home
        for wish in wishes:
            self._submit([wish])
            self._settle()

    @rule(wish=_wishes())
    def submit(self, wish: dict[str, Any]) -> None:
        self._submit([wish])

    @rule(wish=_wishes(), lane=st.sampled_from(LANES))
    def submit_to_lane(self, wish: dict[str, Any], lane: str) -> None:
        self._submit([{**wish, "lane": lane}])

    @rule(wishes=st.lists(_wishes(), min_size=2, max_size=4))
    def submit_together(self, wishes: list[dict[str, Any]]) -> None:
        self._submit(wishes)

    def _submit(self, wishes: list[dict[str, Any]]) -> None:
        names = [self._new_id() for _ in wishes]
        made = tuple(
            Wish(**{
                **wish, "id": name,
                "queue": self.home if wish.get("queue") == "home" else wish.get("queue", "main"),
                "depends_on": self._counted_back(names, wish.get("depends_on", ())),
            })
            for name, wish in zip(names, wishes, strict=True)
        )  # fmt: skip
        answer = self._tell(lambda side: side.app.submit_many(side.calls(made)))
        self._expect(answer, self.model.submit(*made))

    def _counted_back(self, names: list[str], places: Sequence[int]) -> tuple[str, ...]:
        """Return the ids of the jobs that are so many places before the newest job."""
        known = [*self.model.jobs, *names]
        return tuple(
            NOBODY if place == 99 else known[-1 - place]
            for place in places
            if place == 99 or place < len(known)
        )

    @rule(id=_ids("any"))
    def submit_again(self, id: str) -> None:
        if id in self.model.jobs:
            wish = self.model.jobs[id].wish
            answer = self._tell(lambda side: side.app.submit_many(side.calls((wish,))))
            self._expect(answer, self.model.submit(wish))

    @_if_any("ended")
    @rule(id=_mostly("ended"))
    def rerun(self, id: str) -> None:
        name = self._new_id()

        async def rerun(side: Side) -> Any:
            job = await side.job(id).rerun()
            side.call_it(job, name)
            return job

        self._expect(self._tell(rerun), self.model.rerun(id, fresh=name))

    @rule()
    def fire_a_schedule(self) -> None:
        name = self._new_id()

        async def fire(side: Side) -> Any:
            job = await side.app.schedules.fire("by hand")
            side.call_it(job, name)
            return job

        answer = self._tell(fire)
        code = self.model.submit(Wish(id=name, dedupe="schedule:by hand"))
        assert code == (None if answer else "duplicate")

    # bodies

    @_if_any("running")
    @rule(id=_ids("running"))
    def complete(self, id: str) -> None:
        self._finish(id, "completed")

    @_if_any("to be tried again")
    @rule(id=_ids("to be tried again"))
    def fail(self, id: str) -> None:
        self._finish(id, "retryable")

    @_if_any("running")
    @rule(id=_ids("running"), how=st.sampled_from(["permanent", "retryable"]))
    def fail_anyhow(self, id: str, how: str) -> None:
        self._finish(id, how)

    def _finish(self, id: str, how: str) -> None:
        for side in self.sides:
            side.gate.open(side.real(id), how)
        self.model.finish(id, how)

    # commands on jobs

    @rule(id=_mostly("live"), outputs=st.sampled_from(["keep", "delete"]))
    def cancel(self, id: str, outputs: Literal["keep", "delete"]) -> None:
        answer = self._tell(lambda side: side.job(id).cancel(outputs=outputs))
        self._expect(answer, self.model.cancel(id))

    @_if_any("in line")
    @rule(id=_mostly("in line"))
    def skip(self, id: str) -> None:
        self._expect(self._tell(lambda side: side.job(id).skip()), self.model.skip(id))

    @_if_any("failed")
    @rule(id=_mostly("failed"), place=st.sampled_from(["head", "tail"]))
    def retry_failed(self, id: str, place: Literal["head", "tail"]) -> None:
        self._retry(id, place)

    @_if_any("cancelled")
    @rule(id=_mostly("cancelled"), place=st.sampled_from(["head", "tail"]))
    def retry_cancelled(self, id: str, place: Literal["head", "tail"]) -> None:
        self._retry(id, place)

    def _retry(self, id: str, place: Literal["head", "tail"]) -> None:
        answer = self._tell(lambda side: side.job(id).retry(place=place))
        self._expect(answer, self.model.retry(id, place))

    @_if_any("in line")
    @rule(id=_mostly("in line"), to=st.sampled_from(["head", "tail"]))
    def move_to(self, id: str, to: Literal["head", "tail"]) -> None:
        answer = self._tell(lambda side: side.job(id).move(to=to))
        self._expect(answer, self.model.move(id, to=to))

    @_if_any("in line")
    @rule(id=_mostly("in line"), other=_mostly("in line"), after=st.booleans())
    def move_beside(self, id: str, other: str, after: bool) -> None:
        async def move(side: Side) -> Any:
            target = side.real(other)
            job = side.job(id)
            return await (job.move(after=target) if after else job.move(before=target))

        self._expect(self._tell(move), self.model.move(id, beside=other, after=after))

    @_if_any("in line")
    @rule(id=_mostly("in line"), priority=st.sampled_from(PRIORITIES))
    def prioritize(self, id: str, priority: PriorityLevel) -> None:
        wanted = Priority[priority.upper()]
        answer = self._tell(lambda side: side.job(id).set_priority(wanted))
        self._expect(answer, self.model.prioritize(id, priority))

    # commands on queues and limits

    @rule(queue=_queues, after_current=st.booleans())
    def pause(self, queue: str, after_current: bool) -> None:
        if after_current:
            self._tell(lambda side: side.app.queues.stop_after_current(queue))
        else:
            self._tell(lambda side: side.app.queues.pause(queue))
        self.model.paused[queue] = "after_current" if after_current else "paused"

    @rule(queue=_queues)
    def resume(self, queue: str) -> None:
        self._tell(lambda side: side.app.queues.resume(queue))
        self.model.paused[queue] = None

    @rule(queue=_queues, most=st.sampled_from([None, 0, 1, 2, 5]))
    def set_max_concurrent(self, queue: str, most: int | None) -> None:
        self._set(queue, "max_concurrent", most)

    @rule(queue=_queues, policy=st.sampled_from(["queue", "reject", "merge", "reject_running"]))
    def set_on_conflict(self, queue: str, policy: str) -> None:
        self._set(queue, "on_conflict", policy)

    @rule(order=st.sampled_from([None, "strict"]))
    def set_order(self, order: str | None) -> None:
        self._set("main", "order", order)

    def _set(self, queue: str, name: str, value: Any) -> None:
        changes: QueueChanges = {name: value}  # type: ignore[misc]
        self._tell(lambda side: side.app.queues.set(queue, **changes))
        self.model.choose(queue, name, value)

    @rule(starts=st.integers(0, 3))
    def set_limit(self, starts: int) -> None:
        self._tell(lambda side: side.app.limits.set("api", starts=starts))
        self.model.starts = starts

    @rule(amount=st.integers(0, 3))
    def set_resource(self, amount: int) -> None:
        self._tell(lambda side: side.app.limits.set_resource("gpu", amount))
        self.model.amount = amount

    # time and the process

    @rule(seconds=st.sampled_from([1, 5, 10, 60, 700]))
    def advance(self, seconds: int) -> None:
        for side in self.sides:
            side.clock.advance(seconds)
        self.model.advance(seconds)

    @rule(seconds=st.sampled_from([1, 10, 100]))
    def set_the_clock_back(self, seconds: int) -> None:
        for side in self.sides:
            side.clock.set_back(seconds)
        self.model.set_back(seconds)

    @rule(killed=st.booleans())
    def start_anew(self, killed: bool) -> None:
        if killed:
            self._each(Side.crash)
            self.model.crash()
            return
        for id in [id for id in self.of_kind("running") if self.model.jobs[id].stopping]:
            self._finish(id, "completed")  # a body that ignores its stop delays the close
            self._settle()
        self._each(Side.close)
        self._each(Side.open)
        self.model.restart()

    def _let_everything_end(self) -> None:
        """Run the whole backlog, so that a job that can never start fails the test."""
        self.start_anew(killed=False)
        self.all_agree()
        for queue in QUEUES:
            self.resume(queue)
            self._settle()
            self.set_max_concurrent(queue, 2)
            self._settle()
        self.set_limit(3)
        self._settle()
        self.set_resource(3)
        self.all_agree()
        for _ in range(MOST_STEPS_TO_THE_END):
            if running := self.of_kind("running"):
                self._finish(running[0], "completed")
            elif self.of_kind("live"):
                self.advance(60)
            else:
                return
            self.all_agree()
        stuck = self._each(lambda side: side.shown())[0]["explained"]
        pytest.fail(f"jobs are left that never start: {stuck}")

    # invariants after every step

    def _settle(self) -> None:
        self._each(Side.settled)
        self.model.settle()

    @invariant()
    def all_agree(self) -> None:
        self._settle()
        assert self._complaints.heard == []
        memory, sqlite = self._each(Side.shown)
        assert memory == sqlite, difference(memory, sqlite)
        self._check_jobs(memory)
        self._agreed = True

    def _check_jobs(self, shown: dict[str, Any]) -> None:
        model = self.model
        assert sorted(shown["bodies"]) == sorted(self.of_kind("running"))
        assert {id: _told(view) for id, view in shown["jobs"].items()} == {
            id: (j.state, j.priority, j.attempt, j.crashes, j.stopping, _instant(j.due_at))
            for id, j in model.jobs.items()
        }
        for queue in QUEUES:
            waiting = [job["id"] for job in shown["waiting"].get(queue, [])]
            assert waiting == model.waiting(queue)
        assert set(shown["asked"]) == model.asked()


def _told(view: dict[str, Any]) -> tuple[Any, ...]:
    names = ("state", "priority", "attempt", "crashes", "stopping", "due_at")
    return tuple(view[name] for name in names)


def _instant(seconds: float | None) -> str | None:
    if seconds is None:
        return None
    return datetime.fromtimestamp(seconds, UTC).isoformat().replace("+00:00", "Z")


@pytest.mark.timeout(0 if EXAMPLES else 900)  # shrinking a failure takes long
def test_memory_sqlite_and_a_naive_model_agree_after_every_step(tmp_path: Path) -> None:
    apps = (StoryApp(), StoryApp())
    folders = (tmp_path / str(number) for number in itertools.count())
    chosen = settings(
        max_examples=int(EXAMPLES or 20),
        derandomize=not EXAMPLES,  # only campaigns use new random stories
        stateful_step_count=STEPS,
        deadline=None,
        print_blob=True,
        suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
    )
    with Complaints() as complaints:

        def story() -> Stores:
            return Stores(apps, next(folders), complaints)

        run_state_machine_as_test(story, settings=chosen)  # type: ignore[arg-type]
