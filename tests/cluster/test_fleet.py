"""The workers that a leader counts as dead, and its messages to live workers."""

import msgspec
import pytest

from fairlane.cluster.fleet import MessageRef, SharedFleet, SoloFleet
from fairlane.cluster.lease_watch import LeaseWatch
from fairlane.core.decisions import Decisions, Stop
from fairlane.core.inputs import Outcome, WorkerGone, WorkerJoined
from fairlane.core.live_job import JobId, WorkerId
from fairlane.store.memory.shared import SharedMemoryStore

OWN, A, B = WorkerId("own"), WorkerId("a"), WorkerId("b")


@pytest.fixture
def many() -> SharedFleet:
    fleet = SharedFleet(
        SharedMemoryStore(), LeaseWatch(10.0, 2.0, lambda: 0.0), lambda worker: worker == OWN
    )
    fleet.start_epoch(3)
    return fleet


def joined(worker: WorkerId) -> WorkerJoined:
    return WorkerJoined(id=worker, name=worker, slots=1)


def told(*workers: WorkerId) -> Decisions:
    decisions = Decisions()
    for worker in workers:
        decisions.orders_for(worker).stops.append(Stop(JobId("j"), worker, 1, "keep", False))
    return decisions


def test_a_solo_fleet_reports_every_other_worker_as_dead() -> None:
    assert SoloFleet().find_dead({B, A}, {("worker", A): "{}"}) == [A, B]


def test_a_shared_fleet_reports_workers_without_a_readable_record_as_dead(
    many: SharedFleet,
) -> None:
    records: dict[tuple[str, str], str] = {
        ("worker", A): msgspec.json.encode(joined(A)).decode(),
        ("worker", B): "nonsense",
    }
    assert many.find_dead({A, B, WorkerId("c")}, records) == [B, WorkerId("c")]


def test_an_introduction_is_dropped_when_its_worker_is_gone_in_the_same_batch(
    many: SharedFleet,
) -> None:
    outcome = Outcome(JobId("j"), A, 1, "completed")
    gone = WorkerGone(A)
    assert many.filter_inputs([joined(A), joined(B), outcome, gone]) == [joined(B), outcome, gone]


def test_messages_are_numbered_above_those_of_every_earlier_leader(many: SharedFleet) -> None:
    decisions = told(A)
    many.add_messages(decisions, [A])
    [(worker, number, _)] = decisions.changes.messages
    former = SharedFleet(
        SharedMemoryStore(), LeaseWatch(10.0, 2.0, lambda: 0.0), lambda worker: worker == OWN
    )
    former.start_epoch(2)
    last = 0
    for _ in range(1000):
        last = former.add_messages(told(OWN), [OWN]).number
    assert worker == A
    assert number > last


def test_a_message_to_the_leaders_own_worker_names_the_previous_message(many: SharedFleet) -> None:
    first = many.add_messages(told(OWN), [OWN, A])
    many.add_messages(told(A), [OWN, A])
    third = many.add_messages(told(OWN, A), [OWN, A])
    assert third == MessageRef(first.number + 2, first.number)


def test_no_message_is_written_to_an_unknown_worker(many: SharedFleet) -> None:
    decisions = told(A, B)
    many.add_messages(decisions, [B])
    assert [worker for worker, _, _ in decisions.changes.messages] == [B]
