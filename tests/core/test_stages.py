"""Stages of running jobs request limits and resources, and go before new starts."""

import pytest

from fairlane.core.inputs import EnterStage, Pause
from fairlane.core.live_job import JobId, Reason, WorkerId
from tests.support.core import World, orders


@pytest.fixture
def world() -> World:
    world = World()
    world.resource("gpu", 1)
    world.limit("api", 1, 60)
    world.submit("a")
    world.submit("b")
    return world


def test_a_stage_takes_a_resource_for_as_long_as_it_lasts(world: World) -> None:
    assert orders(world.enter("a", "t1", gpu=1)).granted == ["t1"]
    assert orders(world.enter("b", "t2", gpu=1)).granted == []
    assert orders(world.leave("a", "t1")).granted == ["t2"]


def test_a_stage_takes_a_start_of_a_rate_each_time_it_is_entered(world: World) -> None:
    world.enter("a", "t1", limits=("api",))
    world.leave("a", "t1")
    assert orders(world.enter("a", "t2", limits=("api",))).granted == []
    assert world.last.wake_at == world.now + 60
    assert orders(world.wait(60)).granted == ["t2"]


def test_a_stage_comes_before_a_new_start(world: World) -> None:
    world.enter("a", "t1", gpu=1)
    world.submit("new", uses={"gpu": 1})
    world.enter("b", "t2", gpu=1)
    world.leave("a", "t1")
    assert orders(world.last).granted == ["t2"]
    assert world.state("new") == "queued"
    world.leave("b", "t2")
    assert world.state("new") == "running"


def test_stages_are_served_in_the_order_they_asked(world: World) -> None:
    world.submit("c")
    world.enter("a", "t1", gpu=1)
    world.enter("b", "t2", gpu=1)
    world.enter("c", "t3", gpu=1)
    assert orders(world.leave("a", "t1")).granted == ["t2"]
    assert orders(world.leave("b", "t2")).granted == ["t3"]


@pytest.mark.parametrize("how", ["finish", "gone"])
def test_what_a_stage_held_is_free_when_its_job_ends_or_its_worker_dies(
    world: World, how: str
) -> None:
    world.enter("a", "t1", gpu=1)
    world.join("w2", slots=5)
    world.submit("c", uses={"gpu": 1})
    if how == "finish":
        world.finish("a")
    else:
        world.gone("w")
    assert world.state("c") == "running"
    assert not world.store.grants


def test_the_ask_of_a_job_that_has_ended_is_forgotten(world: World) -> None:
    world.enter("a", "t1", gpu=1)
    world.enter("b", "t2", gpu=1)
    world.finish("b")
    assert orders(world.leave("a", "t1")).granted == []
    assert orders(world.enter("a", "t3", gpu=1)).granted == ["t3"]


def test_asking_twice_grants_once(world: World) -> None:
    world.enter("a", "t1", gpu=1)
    assert orders(world.enter("a", "t1", gpu=1)).granted == ["t1"]
    assert len(world.store.grants) == 1
    world.leave("a", "t1")
    assert world.scheduler.board.resource("gpu").used == 0


def test_grants_survive_a_restart(world: World) -> None:
    world.enter("a", "t1", gpu=1)
    other = world.reloaded()
    assert orders(other.enter("b", "t2", gpu=1)).granted == []
    assert orders(other.enter("a", "t1", gpu=1)).granted == ["t1"]
    assert orders(other.leave("a", "t1")).granted == ["t2"]


def test_an_unknown_limit_denies_the_stage_and_says_which(world: World) -> None:
    world.enter("a", "t1", limits=("apy",))
    [(_, error)] = orders(world.last).denied
    assert 'did you mean "api"' in error["message"]
    assert not world.last.changes


def test_a_stale_ask_changes_nothing(world: World) -> None:
    fence = world.job("a").fence
    world.refuse("a")
    world.join("w", slots=5)
    assert world.job("a").fence == fence + 1
    world.apply(EnterStage(JobId("a"), WorkerId("w"), fence, "t", (), (("gpu", 1),)))
    assert not orders(world.last).granted
    assert not world.last.changes


def test_a_stage_that_waits_and_asks_again_waits_once_and_keeps_its_place(world: World) -> None:
    world.submit("c")
    world.enter("a", "t1", gpu=1)
    world.enter("b", "t2", gpu=1)
    world.enter("c", "t3", gpu=1)
    world.enter("b", "t2", gpu=1)
    [share] = world.scheduler.board.resource("gpu").shares.values()
    assert [ask.token for ask in share.waiting_stages] == ["t2", "t3"]
    assert orders(world.leave("a", "t1")).granted == ["t2"]


def reasons(world: World, id: str) -> list[tuple[str, str]]:
    answer = world.explain(id)
    return [(reason["code"], reason["message"]) for reason in answer["reasons"]]


def test_a_stage_that_waits_is_the_reason_of_its_running_job(world: World) -> None:
    world.enter("a", "t1", gpu=1)
    world.enter("b", "t2", gpu=1)
    reason = Reason("resource", 'stage "asr": needs 1 of "gpu": 1 of 1 in use')
    assert world.job("b").reason == reason
    assert world.store.jobs[JobId("b")].reason == reason
    assert reasons(world, "b")[1:] == [(reason.code, reason.message)]
    world.leave("a", "t1")
    assert world.job("b").reason is None
    assert world.store.jobs[JobId("b")].reason is None
    assert [code for code, _ in reasons(world, "b")] == ["running"]


def test_a_stage_that_waits_for_a_rate_gives_the_next_start_only_when_asked(world: World) -> None:
    world.enter("a", "t1", limits=("api",))
    world.enter("b", "t2", limits=("api",))
    rule = 'stage "asr": limit "api" allows 1 starts per 60 s'
    assert world.job("b").reason == Reason("rate_limit", rule)
    assert reasons(world, "b")[1:] == [("rate_limit", f"{rule}: next start in 60 s")]


def test_the_reason_of_a_stage_that_waits_ends_with_the_wait_or_the_attempt(world: World) -> None:
    world.enter("a", "t1", gpu=1)
    world.enter("b", "t2", gpu=1)
    world.leave("b", "t2")
    assert world.job("b").reason is None
    world.enter("b", "t3", gpu=1)
    world.send(Pause("", "q"))  # or it would start again at once, without a reason
    world.apply(world.outcome("b", "returned"))
    assert world.state("b") == "queued"
    assert world.job("b").reason is None


def test_the_other_stage_that_waits_is_the_next_reason(world: World) -> None:
    world.enter("a", "t1", gpu=1)
    world.enter("a", "t2", limits=("api",))
    world.enter("b", "t3", gpu=1)
    world.enter("b", "t4", limits=("api",))
    assert world.job("b").reason.code == "resource"  # type: ignore[union-attr]
    world.leave("a", "t1")
    assert world.job("b").reason.code == "rate_limit"  # type: ignore[union-attr]


def test_a_stage_is_denied_what_its_own_attempt_holds_until_its_end(world: World) -> None:
    world.enter("a", "t1", gpu=1)
    decided = orders(world.enter("a", "t2", gpu=1, leftovers={"gpu": 1}))
    [(token, problem)] = decided.denied
    assert (token, problem["code"], decided.granted) == ("t2", "timeout", [])
    assert 'cannot get 1 of "gpu"' in problem["message"]
    assert world.scheduler.board.waiting_stages == {}


def test_a_stage_that_waits_already_is_denied_what_its_own_attempt_holds_since_then(
    world: World,
) -> None:
    world.enter("a", "t1", gpu=1)
    world.enter("a", "t2", gpu=1)
    assert world.job("a").reason is not None
    decided = orders(world.enter("a", "t2", gpu=1, leftovers={"gpu": 1}))
    assert [token for token, _ in decided.denied] == ["t2"]
    assert world.job("a").reason is None
    assert orders(world.leave("a", "t1")).granted == []
    assert orders(world.enter("b", "t3", gpu=1)).granted == ["t3"]


def test_a_stage_waits_for_other_jobs_if_its_own_attempt_leaves_enough(world: World) -> None:
    world.resource("gpu", 2)
    world.enter("a", "t1", gpu=1)
    world.enter("b", "t2", gpu=1)
    decided = orders(world.enter("a", "t3", gpu=1, leftovers={"gpu": 1}))
    assert (decided.denied, decided.granted) == ([], [])
    assert orders(world.leave("b", "t2")).granted == ["t3"]
