"""The lease of a worker: renewed, given up in time, and what happens when it was not."""

import asyncio

import pytest

from fairlane.cluster.lease_renewal import DEFAULT_TIMES, LeaseCallbacks, LeaseRenewal
from fairlane.core.live_job import WorkerId
from fairlane.errors import StoreUnavailable
from fairlane.process.process_group import ProcessDeadline
from fairlane.store.shared_protocol import Standing
from simulation.loop import SimulatedLoop

WORKER = WorkerId("w")


class Server:
    """The leader's side of one lease."""

    def __init__(self, loop: SimulatedLoop) -> None:
        self._loop = loop
        self.standing: Standing = "known"
        self.reachable = True
        self.hangs = False
        self.problem: Exception = StoreUnavailable("no route")
        self.renewals: list[float] = []
        self.closed = False

    async def begin(self) -> None:
        await self._answer()

    async def renew(self) -> Standing:
        await self._answer()
        return self.standing

    async def _answer(self) -> None:
        if self.hangs:
            await self._loop.create_future()
        if not self.reachable:
            raise self.problem
        self.renewals.append(self._loop.time())

    async def close(self) -> None:
        self.closed = True


class Worker:
    """Notes what the heartbeat has it do, and when."""

    def __init__(self, loop: SimulatedLoop) -> None:
        self._loop = loop
        self.running = 0
        self.obedient = True
        self.told: list[tuple[str, float]] = []

    def _note(self, what: str, *, stops: bool = False) -> None:
        self.told.append((what, self._loop.time()))
        if stops and self.obedient:
            self.running = 0

    def is_running(self, worker: WorkerId) -> bool:
        return worker == WORKER and self.running > 0

    def introduce(self) -> None:
        self._note("introduce")

    def return_jobs(self) -> None:
        self._note("return jobs", stops=True)

    def resume(self) -> None:
        self._note("resume")

    def restart(self) -> None:
        self._note("restart", stops=True)

    def end_process(self) -> None:
        self._note("end")


class Bench:
    def __init__(self) -> None:
        self.loop = SimulatedLoop()
        self.server = Server(self.loop)
        self.worker = Worker(self.loop)
        self.process_deadline = ProcessDeadline()
        callbacks = LeaseCallbacks(
            renew_deadline=self.process_deadline.renew,
            is_running=self.worker.is_running,
            introduce=self.worker.introduce,
            return_jobs=self.worker.return_jobs,
            resume=self.worker.resume,
            restart=self.worker.restart,
            end_process=self.worker.end_process,
        )
        self.lease_renewal = LeaseRenewal(WORKER, self.server, callbacks, now=self.loop.time)
        self._run = self.loop.create_task(self.lease_renewal.run())

    def live(self, seconds: float) -> None:
        self.loop.run_until_complete(asyncio.sleep(seconds))

    @property
    def told(self) -> list[str]:
        return [what for what, _ in self.worker.told]

    def close(self) -> None:
        self.lease_renewal.stop()
        self.loop.run_until_complete(self._run)
        self.loop.close()


@pytest.fixture
def bench() -> Bench:
    return Bench()


def test_a_lease_is_renewed_again_and_again(bench: Bench) -> None:
    bench.live(20)
    begun, *renewals = bench.server.renewals
    assert begun == 0
    assert renewals == pytest.approx([0.5, 2.5, 4.5, 6.5, 8.5, 10.5, 12.5, 14.5, 16.5, 18.5])
    assert bench.told == ["introduce"]
    bench.close()
    assert bench.server.closed


def test_what_a_child_runs_has_the_same_lease(bench: Bench) -> None:
    bench.live(3)
    assert bench.process_deadline.deadline == pytest.approx(2.5 + DEFAULT_TIMES.end_seconds)
    bench.close()


def test_a_worker_introduces_itself_until_it_is_known(bench: Bench) -> None:
    bench.server.standing = "unknown"
    bench.live(1.2)
    assert set(bench.told) == {"introduce"}
    assert len(bench.told) >= 2
    bench.server.standing = "known"
    introduced = len(bench.told)
    bench.live(10)
    assert bench.told == ["introduce"] * introduced
    bench.close()


@pytest.mark.parametrize("trouble", ["reachable", "hangs"])
def test_without_a_renewal_everything_is_handed_back_before_the_lease_ends(
    bench: Bench, trouble: str
) -> None:
    bench.worker.running = 3
    bench.live(1)
    setattr(bench.server, trouble, trouble == "hangs")
    bench.live(30)
    assert bench.told == ["introduce", "return jobs"]
    since = bench.server.renewals[-1]
    assert (
        DEFAULT_TIMES.return_seconds <= bench.worker.told[-1][1] - since < DEFAULT_TIMES.end_seconds
    )
    bench.server.reachable, bench.server.hangs = True, False
    bench.live(2 + DEFAULT_TIMES.return_seconds + DEFAULT_TIMES.renew_seconds)
    assert bench.told == ["introduce", "return jobs", "resume"]
    bench.close()


def test_a_process_in_which_something_does_not_stop_ends_before_its_lease(bench: Bench) -> None:
    bench.worker.running, bench.worker.obedient = 1, False
    bench.live(1)
    bench.server.reachable = False
    bench.live(30)
    assert bench.told == ["introduce", "return jobs", "end"]
    assert bench.worker.told[-1][1] - bench.server.renewals[-1] < DEFAULT_TIMES.lease_seconds
    bench.close()


def test_who_counts_as_dead_stops_everything_at_once(bench: Bench) -> None:
    bench.worker.running = 1
    bench.live(1)
    bench.server.standing = "dead"
    bench.live(2)
    assert bench.told == ["introduce", "restart"]
    bench.live(30)
    assert bench.told == ["introduce", "restart"]
    bench.close()


def test_who_counts_as_dead_and_cannot_stop_ends(bench: Bench) -> None:
    bench.worker.running, bench.worker.obedient = 1, False
    bench.live(1)
    bench.server.standing = "dead"
    bench.live(10)
    assert bench.told == ["introduce", "restart", "end"]
    bench.close()


def test_who_slept_past_its_lease_goes_on_if_nobody_noticed(bench: Bench) -> None:
    bench.worker.running = 1
    bench.live(1)
    bench.loop._passed += 60.0
    bench.live(1)
    assert bench.told == ["introduce"]
    assert bench.worker.running == 1
    bench.close()


def test_who_slept_past_its_lease_begins_nothing_until_the_leader_must_have_seen_it(
    bench: Bench,
) -> None:
    bench.live(1)
    assert bench.lease_renewal.is_held()
    bench.loop._passed += DEFAULT_TIMES.lease_seconds + DEFAULT_TIMES.margin_seconds
    assert not bench.lease_renewal.is_held()  # nothing has been renewed yet
    bench.live(1)
    renewed_at = bench.server.renewals[-1]
    assert bench.lease_renewal.renewed_at == renewed_at
    assert not bench.lease_renewal.is_held()  # the leader may be counting it dead right now
    bench.live(DEFAULT_TIMES.return_seconds - 1.5)
    assert bench.told == ["introduce"]
    bench.live(DEFAULT_TIMES.renew_seconds + 1)
    assert bench.lease_renewal.is_held()
    assert bench.told == ["introduce", "resume"]  # who refused work says that it takes some again
    bench.close()


def test_who_could_not_renew_for_a_moment_begins_again_at_once(bench: Bench) -> None:
    bench.live(1)
    bench.loop._passed += DEFAULT_TIMES.return_seconds
    assert not bench.lease_renewal.is_held()
    bench.live(1)
    assert bench.lease_renewal.is_held()
    assert bench.told == ["introduce", "resume"]
    bench.close()


def test_an_error_that_nobody_foresaw_does_not_end_the_heartbeat(bench: Bench) -> None:
    bench.server.problem = ValueError("who would have thought")
    bench.live(1)
    bench.server.reachable = False
    bench.live(3)
    bench.server.reachable = True
    bench.live(3)
    assert bench.told == ["introduce"]
    assert bench.server.renewals[-1] > 4
    bench.close()
