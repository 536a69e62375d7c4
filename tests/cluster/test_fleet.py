"""Whom a leader among many believes, and what it writes for them."""

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
        SharedMemoryStore(), LeaseWatch(12.0, lambda: 0.0), lambda worker: worker == OWN
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


def test_alone_every_other_worker_is_dead() -> None:
    assert SoloFleet().find_dead({B, A}, {("worker", A): "{}"}) == [A, B]


def test_among_many_only_those_are_dead_of_whom_nothing_is_known(many: SharedFleet) -> None:
    records: dict[tuple[str, str], str] = {
        ("worker", A): msgspec.json.encode(joined(A)).decode(),
        ("worker", B): "nonsense",
    }
    assert many.find_dead({A, B, WorkerId("c")}, records) == [B, WorkerId("c")]


def test_who_is_gone_does_not_come_back_by_what_it_said_before(many: SharedFleet) -> None:
    outcome = Outcome(JobId("j"), A, 1, "completed")
    gone = WorkerGone(A)
    assert many.filter_inputs([joined(A), joined(B), outcome, gone]) == [joined(B), outcome, gone]


def test_messages_are_numbered_above_those_of_every_former_leader(many: SharedFleet) -> None:
    decisions = told(A)
    many.add_messages(decisions, [A])
    [(worker, number, _)] = decisions.changes.messages
    former = SharedFleet(
        SharedMemoryStore(), LeaseWatch(12.0, lambda: 0.0), lambda worker: worker == OWN
    )
    former.start_epoch(2)
    last = 0
    for _ in range(1000):
        last = former.add_messages(told(OWN), [OWN]).number
    assert worker == A
    assert number > last


def test_what_our_worker_is_told_names_the_message_before_it(many: SharedFleet) -> None:
    first = many.add_messages(told(OWN), [OWN, A])
    many.add_messages(told(A), [OWN, A])
    third = many.add_messages(told(OWN, A), [OWN, A])
    assert third == MessageRef(first.number + 2, first.number)


def test_nothing_is_written_to_whom_nobody_knows(many: SharedFleet) -> None:
    decisions = told(A, B)
    many.add_messages(decisions, [B])
    assert [worker for worker, _, _ in decisions.changes.messages] == [B]
