"""Which workers of other processes a leader believes alive."""

import pytest

from fairlane.cluster.lease_watch import LeaseWatch
from fairlane.core.inputs import WorkerGone, WorkerJoined
from fairlane.core.live_job import WorkerId, device_id

A = WorkerId("a")


class Watch:
    def __init__(self) -> None:
        self.now = 100.0
        self.known: list[WorkerId] = []
        self.lease_watch = LeaseWatch(12.0, lambda: self.now)

    def look(self, seconds: float, **beats: int) -> list[object]:
        self.now += seconds
        counts = {WorkerId(worker): count for worker, count in beats.items()}
        return list(self.lease_watch.check(counts, self.known))


@pytest.fixture
def watch() -> Watch:
    return Watch()


def joined(**about: object) -> WorkerJoined:
    return WorkerJoined(id=A, name="a", slots=1, **about)  # type: ignore[arg-type]


def test_a_count_that_stands_still_for_too_long_means_death(watch: Watch) -> None:
    assert watch.look(0, a=1) == []
    assert watch.look(12, a=1) == []
    assert watch.look(0.1, a=1) == [WorkerGone(A)]


def test_a_count_that_moves_means_life(watch: Watch) -> None:
    for count in range(20):
        assert watch.look(10, a=count) == []


def test_a_new_leader_counts_anew(watch: Watch) -> None:
    watch.look(0, a=1)
    watch.now += 11
    watch.lease_watch.load([joined()])
    assert watch.look(0, a=1) == []
    assert watch.look(11, a=1) == []
    assert watch.look(2, a=1) == [WorkerGone(A)]


def test_whom_a_former_leader_knew_gets_work_once_it_shows_that_it_lives(watch: Watch) -> None:
    known = joined(accepting=False)
    watch.lease_watch.load([known])
    assert watch.look(0, a=7) == []
    assert watch.look(1, a=7) == []
    assert watch.look(1, a=8) == [known]
    assert watch.look(1, a=9) == []


def test_who_spoke_for_itself_is_not_spoken_for(watch: Watch) -> None:
    watch.lease_watch.load([joined()])
    watch.look(0, a=7)
    watch.lease_watch.mark_introduced(A)
    assert watch.look(1, a=8) == []


def test_who_left_is_forgotten(watch: Watch) -> None:
    watch.look(0, a=1)
    watch.look(1)
    assert watch.look(100, a=1) == []


def test_who_is_known_and_has_no_lease_is_dead(watch: Watch) -> None:
    watch.known = [A]
    assert watch.look(0, a=1) == []
    assert watch.look(0) == [WorkerGone(A)]


def test_devices_live_and_die_with_their_carrier(watch: Watch) -> None:
    phone = joined()
    phone.id, phone.device = device_id(A, "phone"), True
    watch.known = [A, phone.id]
    watch.lease_watch.load([phone, joined()])
    assert watch.look(0, a=1) == []
    assert watch.look(1, a=2) == [joined(), phone]
    assert watch.look(13, a=2) == [WorkerGone(A)]
    assert watch.look(0) == [WorkerGone(A), WorkerGone(phone.id)]


def test_a_device_that_spoke_for_itself_is_not_told_of_again(watch: Watch) -> None:
    phone = joined()
    phone.id, phone.device = device_id(A, "phone"), True
    watch.lease_watch.load([phone, joined()])
    watch.lease_watch.mark_introduced(phone.id)
    watch.look(0, a=1)
    assert watch.look(1, a=2) == [joined()]
