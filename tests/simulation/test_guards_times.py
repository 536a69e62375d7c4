"""Times that were noted for something else, or by a clock that has been set back since."""

from fairlane.core.retry import Retry
from tests.support.core import World


def test_a_start_noted_before_the_clock_went_back_holds_up_nobody_longer_than_a_window() -> None:
    world = World()
    world.limit("api", 1, 60)
    world.submit("a", limits=["api"])
    world.submit("b", limits=["api"])
    world.now -= 1000
    other = world.reloaded()
    other.wait(59)
    assert other.state("b") == "queued"
    other.wait(1)
    assert other.state("b") == "running"


def test_starts_noted_before_and_after_the_clock_went_back_leave_the_window_in_turn() -> None:
    world = World()
    world.limit("api", 2, 60)
    world.submit("a", limits=["api"])
    world.now -= 30
    world.submit("b", limits=["api"])
    world.submit("c", limits=["api"])
    assert world.state("c") == "queued"
    world.wait(60)
    assert world.state("c") == "running"


def test_a_backoff_is_waited_out_whole_whatever_an_earlier_one_was_to_wake() -> None:
    world = World()
    world.submit("a", retry=Retry(first_seconds=10))
    world.fail("a")
    world.wait(4)
    world.cancel("a")
    world.retry("a")
    world.fail("a")
    world.wait(6)  # when the first backoff would have been over
    assert world.state("a") == "retrying"
    world.wait(4)
    assert world.state("a") == "running"
