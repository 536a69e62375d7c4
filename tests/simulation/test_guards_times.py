"""Times that were recorded for another purpose, or before the clock was set back."""

from fairlane.core.retry import Retry
from tests.support.core import World


def test_a_start_from_before_the_clock_was_set_back_blocks_at_most_one_window() -> None:
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


def test_starts_from_before_and_after_the_clock_was_set_back_expire_in_order() -> None:
    world = World()
    world.limit("api", 2, 60)
    world.submit("a", limits=["api"])
    world.now -= 30
    world.submit("b", limits=["api"])
    world.submit("c", limits=["api"])
    assert world.state("c") == "queued"
    world.wait(60)
    assert world.state("c") == "running"


def test_a_backoff_is_not_shortened_by_the_wake_up_of_an_earlier_one() -> None:
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
