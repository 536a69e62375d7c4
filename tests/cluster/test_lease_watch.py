"""The lease watch of a leader: which workers of other processes are alive."""

import pytest

from fairlane.cluster.lease_watch import LeaseWatch
from fairlane.core.inputs import WorkerGone, WorkerJoined
from fairlane.core.live_job import WorkerId, device_id
from fairlane.store.shared_protocol import LeaseCount

A = WorkerId("a")


class Watch:
    def __init__(self) -> None:
        self.now = 100.0
        self.known: list[WorkerId] = []
        self.lease_watch = LeaseWatch(10.0, 2.0, lambda: self.now)

    def look(self, seconds: float, *, age: float = 0.0, **beats: int) -> list[object]:
        self.now += seconds
        counts = {WorkerId(worker): LeaseCount(count, age) for worker, count in beats.items()}
        return list(self.lease_watch.check(counts, self.known))


@pytest.fixture
def watch() -> Watch:
    return Watch()


def joined(**about: object) -> WorkerJoined:
    return WorkerJoined(id=A, name="a", slots=1, **about)  # type: ignore[arg-type]


def test_a_worker_whose_count_does_not_change_for_a_lease_is_reported_gone(watch: Watch) -> None:
    assert watch.look(0, a=1) == []
    assert watch.look(12, a=1) == []
    assert watch.look(0.1, a=1) == [WorkerGone(A)]


def test_a_lease_ends_as_long_after_its_renewal_however_late_the_leader_sees_it(
    watch: Watch,
) -> None:
    watch.look(0, a=1)
    assert watch.look(2.5, age=1.9, a=2) == []  # renewed at 0.6
    assert watch.lease_watch.seconds_left() == pytest.approx(10.1)
    assert watch.look(10, a=2) == []
    assert watch.look(0.2, a=2) == [WorkerGone(A)]


@pytest.mark.parametrize(("age", "end"), [(3600.0, 10.0), (-3600.0, 12.0)])
def test_a_wrong_clock_of_the_database_ends_no_lease_early(
    watch: Watch, age: float, end: float
) -> None:
    watch.look(0, a=1)
    watch.look(2.5, age=age, a=2)
    assert watch.look(end - 0.1, a=2) == []
    assert watch.look(0.2, a=2) == [WorkerGone(A)]


def test_a_worker_whose_count_changes_is_alive(watch: Watch) -> None:
    for count in range(20):
        assert watch.look(10, a=count) == []


def test_a_new_leader_gives_every_worker_a_full_lease(watch: Watch) -> None:
    watch.look(0, a=1)
    watch.now += 11
    watch.lease_watch.load([joined()])
    assert watch.look(0, a=1) == []
    assert watch.look(11, a=1) == []
    assert watch.look(2, a=1) == [WorkerGone(A)]


def test_a_worker_of_an_earlier_leader_joins_when_its_count_changes(watch: Watch) -> None:
    known = joined(accepting=False)
    watch.lease_watch.load([known])
    assert watch.look(0, a=7) == []
    assert watch.look(1, a=7) == []
    assert watch.look(1, a=8) == [known]
    assert watch.look(1, a=9) == []


def test_a_worker_that_introduced_itself_is_not_reported_again(watch: Watch) -> None:
    watch.lease_watch.load([joined()])
    watch.look(0, a=7)
    watch.lease_watch.mark_introduced(A)
    assert watch.look(1, a=8) == []


def test_a_worker_that_left_is_forgotten(watch: Watch) -> None:
    watch.look(0, a=1)
    watch.look(1)
    assert watch.look(100, a=1) == []


def test_a_known_worker_without_a_lease_is_reported_gone(watch: Watch) -> None:
    watch.known = [A]
    assert watch.look(0, a=1) == []
    assert watch.look(0) == [WorkerGone(A)]


def test_devices_join_and_leave_with_the_worker_that_carries_them(watch: Watch) -> None:
    phone = joined()
    phone.id, phone.device = device_id(A, "phone"), True
    watch.known = [A, phone.id]
    watch.lease_watch.load([phone, joined()])
    assert watch.look(0, a=1) == []
    assert watch.look(1, a=2) == [joined(), phone]
    assert watch.look(13, a=2) == [WorkerGone(A)]
    assert watch.look(0) == [WorkerGone(A), WorkerGone(phone.id)]


def test_a_device_that_was_introduced_is_not_reported_again(watch: Watch) -> None:
    phone = joined()
    phone.id, phone.device = device_id(A, "phone"), True
    watch.lease_watch.load([phone, joined()])
    watch.lease_watch.mark_introduced(phone.id)
    watch.look(0, a=1)
    assert watch.look(1, a=2) == [joined()]
