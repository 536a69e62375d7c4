"""A device is a worker inside its carrier: it gets its orders through it and is gone with it."""

from typing import Any

from fairlane.core.inputs import SaveRecord, WorkerGone, WorkerJoined
from fairlane.core.lifecycle import State
from fairlane.core.live_job import WorkerId, carrier_of, device_id, device_of
from tests.support.core import World

CARRIER, OTHER = WorkerId("carrier"), WorkerId("other")
PHONE = device_id(CARRIER, "phone")


def phone(carrier: WorkerId = CARRIER, **about: Any) -> WorkerJoined:
    id = device_id(carrier, "phone")
    return WorkerJoined(id=id, name="phone", slots=1, queues=("q",), device=True, **about)


def carry(world: World, carrier: WorkerId = CARRIER) -> None:
    world.join(carrier, queues=())
    world.apply(phone(carrier))


def test_the_id_of_a_device_names_its_carrier_and_itself() -> None:
    assert (carrier_of(PHONE), device_of(PHONE)) == (CARRIER, "phone")
    assert (carrier_of(CARRIER), device_of(CARRIER)) == (CARRIER, None)
    assert device_of(device_id(CARRIER, "127.0.0.1:5555")) == "127.0.0.1:5555"


def test_the_orders_of_a_device_go_to_its_carrier() -> None:
    world = World(slots=0, devices=True)
    carry(world)
    world.submit("a")
    assert world.job("a").worker == PHONE
    assert [start.worker for start in world.last.orders[CARRIER].starts] == [PHONE]
    assert set(world.last.orders) == {CARRIER}


def test_an_event_says_on_which_device_of_which_worker_a_job_runs() -> None:
    world = World(slots=0, devices=True)
    carry(world)
    world.submit("a")
    [running] = [e for e in world.last.changes.events if e.data.get("state") == "running"]
    assert (running.data["worker"], running.data["device"]) == ("carrier", "phone")


def test_a_device_belongs_to_the_first_process_that_reports_it() -> None:
    world = World(slots=0, devices=True)
    carry(world)
    carry(world, OTHER)
    assert device_id(OTHER, "phone") not in world.scheduler.board.workers.all
    assert ("worker", device_id(OTHER, "phone")) not in world.store.records
    world.apply(WorkerGone(CARRIER))
    carry(world, OTHER)
    world.submit("a")
    assert world.job("a").worker == device_id(OTHER, "phone")


def test_a_device_dies_with_its_carrier_and_its_job_is_interrupted() -> None:
    world = World(slots=0, devices=True)
    carry(world)
    world.submit("a")
    world.apply(WorkerGone(CARRIER))
    assert world.job("a").state is State.QUEUED
    assert world.job("a").crashes == 1
    assert not [key for key in world.store.records if key[0] == "worker" and "carrier" in key[1]]


def test_a_device_that_resigns_with_its_carrier_returns_jobs_that_had_not_begun() -> None:
    world = World(slots=0, devices=True)
    carry(world)
    world.submit("a")
    world.apply(WorkerGone(CARRIER, resigned=True))
    assert world.job("a").state is State.QUEUED
    assert (world.job("a").crashes, world.job("a").attempt) == (0, 0)


def test_a_job_whose_device_went_down_is_interrupted_and_goes_to_the_front() -> None:
    world = World(slots=0, devices=True)
    carry(world)
    for id in "ab":
        world.submit(id)
    world.apply(world.outcome("a", "interrupted"))
    assert world.job("a").crashes == 1
    assert world.running == {"a"}  # before the job that waited


def test_a_device_that_only_shows_that_it_lives_is_no_news() -> None:
    world = World(slots=0, devices=True)
    carry(world)
    for about, count in (({"seen_at": 1.0}, 0), ({"note": "hot"}, 1), ({"accepting": False}, 1)):
        world.apply(phone(**about))
        assert [event.type for event in world.last.changes.events] == ["worker_changed"] * count


def test_devices_of_a_loaded_board_wait_until_their_carrier_shows_that_it_lives() -> None:
    world = World(slots=0, devices=True)
    carry(world)
    world = world.reloaded()
    world.submit("a")
    assert world.job("a").state is State.QUEUED
    carry(world)
    assert world.running == {"a"}


def test_a_paused_or_removed_device_gets_no_job_even_before_its_carrier_knows() -> None:
    world = World(slots=0, devices=True)
    carry(world)
    world.send(SaveRecord("", "device", "phone", '{"queue":"q","paused":true}'))
    world.submit("a")
    world.apply(phone())  # sent before its carrier knew
    assert world.job("a").state is State.QUEUED
    [reason] = world.explain("a")["reasons"]
    assert reason["message"] == "every device that could run it is down, paused or stopping"
    world.send(SaveRecord("", "device", "phone", '{"queue":"q"}'))
    assert world.running == {"a"}
    world.send(SaveRecord("", "device", "phone", None))
    world.finish("a")
    world.submit("b")
    assert world.job("b").state is State.QUEUED
