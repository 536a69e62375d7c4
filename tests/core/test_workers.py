"""A job goes only to a worker that knows its task, serves its queue, has its labels and is free."""

from tests.support.core import World


def test_a_worker_runs_no_more_than_its_slots() -> None:
    world = World(slots=2)
    for id in "abc":
        world.submit(id)
    assert world.running == {"a", "b"}
    world.join("w", slots=3)
    assert world.running == {"a", "b", "c"}


def test_a_job_waits_for_a_worker_that_knows_its_task() -> None:
    world = World(slots=0)
    world.join("w", tasks=("resize",))
    world.submit("a", task="mail")
    assert world.reasons("a") == ["worker"]
    world.join("m", tasks=("mail",))
    assert world.job("a").worker == "m"


def test_a_job_that_requires_labels_goes_to_a_worker_that_has_them_all() -> None:
    world = World()
    world.join("half", labels=("eu",))
    world.submit("a", requires=["eu", "gpu"])
    world.submit("b")
    assert world.running == {"b"}
    world.join("full", labels=("gpu", "eu", "big"))
    assert world.job("a").worker == "full"


def test_a_worker_may_serve_some_queues_only() -> None:
    world = World(slots=0)
    world.queue("r")
    world.join("w", queues=("r",))
    world.submit("a")
    world.submit("b", queue="r")
    assert world.running == {"b"}


def test_a_device_queue_runs_on_its_devices_one_job_each() -> None:
    world = World(devices=True)
    for device in ("d1", "d2"):
        world.join(device, device=True, queues=("q",))
    for id in "abc":
        world.submit(id)
    assert {world.job(id).worker for id in "ab"} == {"d1", "d2"}
    assert world.reasons("c") == ["device"]


def test_a_device_takes_no_job_of_an_ordinary_queue() -> None:
    world = World(slots=0)
    world.join("d", device=True, queues=("q",))
    world.submit("a")
    assert world.running == set()


def test_a_queue_that_becomes_an_ordinary_one_is_served_at_once() -> None:
    world = World(devices=True)
    world.submit("a")
    assert world.running == set()
    world.operate(devices=False)
    assert world.running == {"a"}


def test_when_a_device_refuses_the_next_idle_one_gets_the_job_in_the_same_pass() -> None:
    world = World(slots=0, devices=True)
    for device in ("d1", "d2"):
        world.join(device, device=True, queues=("q",))
    world.submit("a")
    first = world.job("a").worker
    world.refuse("a")
    assert world.state("a") == "running"
    assert world.job("a").worker != first
    assert world.job("a").attempt == 1
    assert world.job("a").fence == 2


def test_who_refused_gets_nothing_more_until_it_says_that_it_serves_again() -> None:
    world = World(slots=1)
    world.submit("a")
    world.refuse("a")
    assert world.state("a") == "queued"
    world.join("w")
    assert world.state("a") == "running"


def test_a_refused_job_is_put_back_at_its_position() -> None:
    world = World(slots=1)
    world.submit("a")
    world.submit("b")
    world.refuse("a")
    world.join("w")
    assert world.running == {"a"}


def test_a_stopping_worker_takes_nothing_and_hands_back_what_it_has() -> None:
    world = World(slots=1)
    world.submit("a")
    world.join("w", slots=1, accepting=False)
    world.apply(world.outcome("a", "returned"))
    assert world.state("a") == "queued"
    world.join("w2")
    assert (world.job("a").worker, world.job("a").attempt) == ("w2", 2)


def test_work_is_spread_over_workers() -> None:
    world = World(slots=0)
    for worker in ("w1", "w2", "w3"):
        world.join(worker, slots=5)
    for id in "abc":
        world.submit(id)
    assert {world.job(id).worker for id in "abc"} == {"w1", "w2", "w3"}


def test_after_a_restart_a_worker_gets_nothing_until_it_shows_that_it_lives() -> None:
    world = World(slots=1)
    world.submit("a")
    workers, world.workers = world.workers, {}
    other = world.reloaded()
    other.submit("b")
    other.finish("a")
    assert other.running == set()
    other.apply(*workers.values())
    assert other.running == {"b"}
