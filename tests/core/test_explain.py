"""The explanation of a waiting job: its place, and each limit, lane, pause or precondition."""

from fairlane.core.inputs import Explain, Pause, RetryJob, Submit
from fairlane.core.live_job import JobId
from fairlane.core.retry import Retry
from tests.support.core import World, job


def test_everything_in_its_way_is_named_at_once() -> None:
    world = World(max_concurrent=1)
    world.limit("api", 1, 60)
    world.resource("gpu", 1)
    world.submit("a", lane="x", limits=["api"], uses={"gpu": 1})
    world.submit("b")
    world.submit("c", lane="x", limits=["api"], uses={"gpu": 1}, requires=["moon"])
    world.send(Pause("", "q"))
    told = world.explain("c")
    assert told["place"] == 2
    assert [reason["code"] for reason in told["reasons"]] == [
        "paused", "max_concurrent", "lane", "rate_limit", "resource", "worker", "turn"
    ]  # fmt: skip


def test_a_time_a_backoff_and_dependencies_are_reasons() -> None:
    world = World()
    world.submit("a", run_at=world.now + 30)
    world.submit("b", retry=Retry(first_seconds=5))
    world.fail("b")
    world.submit("c", after=["a", "b"])
    assert world.explain("a")["reasons"][0]["message"] == "it is not due yet: 30 s to go"
    assert "it went wrong" in world.explain("b")["reasons"][0]["message"]
    assert world.explain("c")["reasons"][0]["message"] == "it waits for jobs a, b"
    assert world.explain("c")["place"] is None


def test_a_running_and_an_ended_job_have_simple_answers() -> None:
    world = World()
    world.submit("a")
    assert world.reasons("a") == ["running"]
    world.finish("a")
    assert world.reasons("a") == ["completed"]


def test_the_answer_is_true_after_the_pass_that_gives_it() -> None:
    world = World(max_concurrent=1)
    questions = [Explain("1", JobId("a")), Explain("2", JobId("b"))]
    world.apply(Submit("k", [job("a"), job("b")]), *questions)
    answers = dict(world.last.answers)
    assert answers["1"]["state"] == "running"
    assert [reason["code"] for reason in answers["2"]["reasons"]] == ["max_concurrent"]


def test_a_job_retried_in_the_same_batch_is_a_live_one() -> None:
    world = World()
    world.submit("a")
    world.fail("a")
    world.apply(RetryJob("k", JobId("a")), Explain("why", JobId("a")))
    assert dict(world.last.answers)["why"]["state"] == "running"


def test_an_explanation_leaves_the_board_unchanged() -> None:
    world = World(max_concurrent=0)
    world.submit("a")
    world.explain("a")
    assert not world.last.changes


def test_behind_a_strict_head_the_head_is_named() -> None:
    world = World(order="strict", max_concurrent=1)
    for id in "abc":
        world.submit(id)
    messages = [reason["message"] for reason in world.explain("c")["reasons"]]
    assert "the queue is strict and its head, job b, is queued" in messages
