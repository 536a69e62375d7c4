"""A worker renews its lease, and stops its jobs before a lease that it cannot renew ends."""

import asyncio

import pytest

from fairlane.cluster.lease_renewal import DEFAULT_TIMES, LeaseCallbacks, LeaseRenewal
from fairlane.core.live_job import WorkerId
from fairlane.errors import StoreUnavailable
from fairlane.process.process_group import ProcessDeadline
from fairlane.store.shared_protocol import Renewal, Standing
from simulation.loop import SimulatedLoop

WORKER = WorkerId("w")


class Server:
    """The leader's side of one lease."""

    def __init__(self, loop: SimulatedLoop) -> None:
        self._loop = loop
        self.standing: Standing = "known"
        self.has_leader = True
        self.reachable = True
        self.hangs = False
        self.problem: Exception = StoreUnavailable("no route")
        self.renewals: list[float] = []
        self.closed = False

    async def begin(self) -> None:
        await self._answer()

    async def renew(self) -> Renewal:
        await self._answer()
        return Renewal(self.standing, self.has_leader)

    async def _answer(self) -> None:
        if self.hangs:
            await self._loop.create_future()
        if not self.reachable:
            raise self.problem
        self.renewals.append(self._loop.time())

    async def close(self) -> None:
        self.closed = True


class Worker:
    """A worker that records each callback of the lease renewal with its time."""

    def __init__(self, loop: SimulatedLoop) -> None:
        self._loop = loop
        self.running = 0
        self.obedient = True
        self.is_standby = False
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

    def stand(self) -> None:
        self._note("stand")


class Bench:
    def __init__(self) -> None:
        self.loop = SimulatedLoop()
        self.server = Server(self.loop)
        self.worker = Worker(self.loop)
        self.process_deadline = ProcessDeadline()
        callbacks = LeaseCallbacks(
            is_standby=lambda: self.worker.is_standby,
            stand=self.worker.stand,
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


def test_a_lease_is_renewed_at_each_interval(bench: Bench) -> None:
    bench.live(20)
    begun, *renewals = bench.server.renewals
    assert begun == 0
    assert renewals == pytest.approx([0.5, 2.5, 4.5, 6.5, 8.5, 10.5, 12.5, 14.5, 16.5, 18.5])
    assert bench.told == ["introduce"]
    bench.close()
    assert bench.server.closed


def test_a_standby_looks_for_a_leader_with_each_renewal_about_once_a_second(bench: Bench) -> None:
    bench.worker.is_standby = True
    bench.live(101)
    assert 90 <= len(bench.server.renewals) <= 101
    assert bench.lease_renewal.sees_leader()
    assert bench.told == ["introduce"]
    bench.server.has_leader = False
    bench.live(1.3)
    assert bench.told[:2] == ["introduce", "stand"]
    assert not bench.lease_renewal.sees_leader()
    bench.close()


def test_a_standby_that_cannot_renew_does_not_count_on_a_leader(bench: Bench) -> None:
    bench.worker.is_standby = True
    bench.live(5)
    bench.server.reachable = False
    bench.live(DEFAULT_TIMES.renew_seconds + 0.1)
    assert not bench.lease_renewal.sees_leader()
    bench.close()


def test_the_renewal_of_a_leader_stands_for_no_election(bench: Bench) -> None:
    bench.server.has_leader = False
    bench.live(5)
    assert bench.told == ["introduce"]
    bench.close()


def test_a_renewal_extends_the_deadline_of_child_processes(bench: Bench) -> None:
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
def test_all_jobs_are_handed_back_before_a_lease_that_is_not_renewed_ends(
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


def test_a_process_with_a_job_that_does_not_stop_ends_before_its_lease_does(bench: Bench) -> None:
    bench.worker.running, bench.worker.obedient = 1, False
    bench.live(1)
    bench.server.reachable = False
    bench.live(30)
    assert bench.told == ["introduce", "return jobs", "end"]
    assert bench.worker.told[-1][1] - bench.server.renewals[-1] < DEFAULT_TIMES.lease_seconds
    bench.close()


def test_a_worker_that_is_counted_dead_restarts_at_once(bench: Bench) -> None:
    bench.worker.running = 1
    bench.live(1)
    bench.server.standing = "dead"
    bench.live(2)
    assert bench.told == ["introduce", "restart"]
    bench.live(30)
    assert bench.told == ["introduce", "restart"]
    bench.close()


def test_a_process_ends_when_its_worker_is_counted_dead_and_a_job_does_not_stop(
    bench: Bench,
) -> None:
    bench.worker.running, bench.worker.obedient = 1, False
    bench.live(1)
    bench.server.standing = "dead"
    bench.live(10)
    assert bench.told == ["introduce", "restart", "end"]
    bench.close()


def test_a_worker_that_slept_past_its_lease_continues_if_the_leader_did_not_notice(
    bench: Bench,
) -> None:
    bench.worker.running = 1
    bench.live(1)
    bench.loop._passed += 60.0
    bench.live(1)
    assert bench.told == ["introduce"]
    assert bench.worker.running == 1
    bench.close()


def test_a_worker_that_slept_past_its_lease_starts_no_job_for_a_full_return_interval(
    bench: Bench,
) -> None:
    bench.live(1)
    assert bench.lease_renewal.is_held()
    bench.loop._passed += DEFAULT_TIMES.lease_seconds + DEFAULT_TIMES.margin_seconds
    assert not bench.lease_renewal.is_held()  # the lease is not renewed yet
    bench.live(1)
    renewed_at = bench.server.renewals[-1]
    assert bench.lease_renewal.renewed_at == renewed_at
    assert not bench.lease_renewal.is_held()  # the leader may be counting the worker dead right now
    bench.live(DEFAULT_TIMES.return_seconds - 1.5)
    assert bench.told == ["introduce"]
    bench.live(DEFAULT_TIMES.renew_seconds + 1)
    assert bench.lease_renewal.is_held()
    assert bench.told == ["introduce", "resume"]  # the worker reports that it accepts jobs again
    bench.close()


def test_a_worker_resumes_at_once_after_a_renewal_that_was_late_but_within_the_lease(
    bench: Bench,
) -> None:
    bench.live(1)
    bench.loop._passed += DEFAULT_TIMES.return_seconds
    assert not bench.lease_renewal.is_held()
    bench.live(1)
    assert bench.lease_renewal.is_held()
    assert bench.told == ["introduce", "resume"]
    bench.close()


def test_an_unexpected_error_does_not_end_the_lease_renewal(bench: Bench) -> None:
    bench.server.problem = ValueError("who would have thought")
    bench.live(1)
    bench.server.reachable = False
    bench.live(3)
    bench.server.reachable = True
    bench.live(3)
    assert bench.told == ["introduce"]
    assert bench.server.renewals[-1] > 4
    bench.close()
