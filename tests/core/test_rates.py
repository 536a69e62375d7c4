"""Rate limits by key: counted at each start, held in every window, also across a restart."""

import pytest

from fairlane.core.inputs import ChangeSetting, ClockSetBack
from fairlane.core.live_job import Reason
from fairlane.core.retry import Retry
from fairlane.errors import BadSetting, UnknownName
from tests.support.core import World, non_empty


@pytest.fixture
def world() -> World:
    world = World()
    world.limit("api", 2, 60)
    return world


def operate(world: World, name: str, **values: object) -> None:
    world.send(ChangeSetting("", "rate", name, "operator", values))


def test_no_more_start_in_a_window_and_the_next_one_is_woken_when_it_moves_on(
    world: World,
) -> None:
    for id in "abc":
        world.submit(id, limits=["api"])
    assert world.running == {"a", "b"}
    assert world.last.wake_at == world.now + 60
    world.finish("a", "b")
    assert world.running == set()
    world.wait(60)
    assert world.running == {"c"}


def test_a_job_without_the_limit_passes(world: World) -> None:
    for id in "abc":
        world.submit(id, limits=["api"])
    world.submit("d")
    assert "d" in world.running


def test_each_retry_takes_a_start_too(world: World) -> None:
    world.submit("a", limits=["api"], retry=Retry(times=5, first_seconds=1))
    world.fail("a")
    world.wait(1)
    world.fail("a")
    world.wait(2)
    assert world.state("a") == "queued"
    world.wait(57)
    assert world.state("a") == "running"


def test_everyone_behind_one_limit_is_woken_even_with_different_needs(world: World) -> None:
    for n in range(6):
        world.submit(f"j{n}", task=f"t{n}", limits=["api"])
    for expected in (4, 6):
        world.wait(60)
        assert len(world.started) == expected


def test_an_alarm_at_the_very_end_of_a_window_finds_room_whatever_the_rounding() -> None:
    world = World()
    world.limit("odd", 1, 0.7)
    world.now = 1763237953.1234567
    for n in range(50):
        world.submit(f"j{n}", limits=["odd"])
    while len(world.started) < 50:
        assert world.last.wake_at is not None
        assert world.last.wake_at > world.now
        world.now = world.last.wake_at
        before = len(world.started)
        world.apply()
        assert len(world.started) == before + 1


def test_windows_survive_a_restart(world: World) -> None:
    world.submit("a", limits=["api"])
    world.submit("b", limits=["api"])
    world.finish("a", "b")
    other = world.reloaded()
    other.submit("c", limits=["api"])
    assert other.state("c") == "queued"
    other.wait(60)
    assert other.state("c") == "running"


def test_a_key_with_a_colon_follows_its_family_in_a_window_of_its_own(world: World) -> None:
    world.limit("host", 1, 60)
    for id, key in (("a1", "host:a"), ("a2", "host:a"), ("b1", "host:b")):
        world.submit(id, limits=[key])
    assert world.running == {"a1", "b1"}
    world.limit("host", 2, 60)
    assert world.running == {"a1", "a2", "b1"}


def test_an_operator_can_set_one_key_apart_and_clear_it_again(world: World) -> None:
    world.limit("host", 1, 60)
    operate(world, "host:a", starts=2, per_seconds=60)
    for n in range(3):
        world.submit(f"a{n}", limits=["host:a"])
    assert world.running == {"a0", "a1"}
    world.limit("host", 5, 60)
    assert world.running == {"a0", "a1"}
    operate(world, "host:a", starts=None, per_seconds=None)
    assert world.running == {"a0", "a1", "a2"}
    assert ("rate", "host:a") not in world.store.records


def test_a_raised_amount_is_used_at_once_and_a_lowered_one_interrupts_no_job(world: World) -> None:
    for id in "abcd":
        world.submit(id, limits=["api"])
    operate(world, "api", starts=3)
    assert world.running == {"a", "b", "c"}
    operate(world, "api", starts=1)
    assert world.running == {"a", "b", "c"}
    world.wait(59)
    assert world.state("d") == "queued"
    world.wait(1)
    assert world.state("d") == "running"


def test_a_refused_start_returns_its_rate_start_to_the_next_waiting_job(world: World) -> None:
    world.limit("api", 1, 60)
    world.submit("a", limits=["api"])
    world.submit("b", limits=["api"])
    world.refuse("a", blocked=Reason("disk_space", "full"))
    assert world.running == {"b"}
    assert len(world.store.rate_starts) == 1


def test_a_limit_of_zero_starts_no_job_until_it_is_raised(world: World) -> None:
    world.limit("api", 0)
    world.submit("a", limits=["api"])
    assert world.last.wake_at is None
    world.limit("api", 1)
    assert world.running == {"a"}


def test_an_unknown_limit_refuses_the_job(world: World) -> None:
    with pytest.raises(UnknownName, match='limit "apy" is not known; did you mean "api"'):
        world.submit("a", limits=["apy"])
    assert not non_empty(world.last.changes)


@pytest.mark.parametrize(
    "values", [{"starts": 1}, {"starts": -1, "per_seconds": 5}, {"starts": 1, "per_seconds": 0},
               {"starts": 1.5, "per_seconds": 5}, {"starts": True, "per_seconds": 5}]
)  # fmt: skip
def test_a_limit_that_makes_no_sense_is_refused(world: World, values: dict[str, object]) -> None:
    with pytest.raises(BadSetting):
        world.send(ChangeSetting("", "rate", "new", "code", values))
    assert not non_empty(world.last.changes)


def test_a_clock_that_is_set_back_does_not_stretch_the_wait(world: World) -> None:
    for id in "abc":
        world.submit(id, limits=["api"])
    world.now -= 3600
    world.apply(ClockSetBack(3600))
    world.wait(60)
    assert world.state("c") == "running"


def test_naming_a_limit_twice_takes_one_start(world: World) -> None:
    world.submit("a", limits=["api", "api"])
    world.submit("b", limits=["api"])
    assert world.running == {"a", "b"}


def test_windows_of_endless_keys_are_forgotten_once_they_are_empty(world: World) -> None:
    for number in range(3_000):
        world.submit(f"job-{number}", limits=[f"api:{number}"])
        world.finish(f"job-{number}")
        world.wait(1)
    assert len(world.scheduler.board.rates) < 1_100
    world.submit("x1", limits=["api:2999"])
    world.submit("x2", limits=["api:2999"])
    assert world.running == {"x1"}  # starts that still count were not dropped


def test_a_clock_set_back_before_a_restart_does_not_make_a_window_endless(world: World) -> None:
    world.submit("a", limits=["api"])
    world.now -= 30  # unnoticed: no process ran
    world.submit("b", limits=["api"])
    world.submit("c", limits=["api"])
    again = world.reloaded()
    again.send(ChangeSetting("", "rate", "api", "operator", {"starts": 1, "per_seconds": 60}))
    again.wait(61)
    assert "c" in again.running
