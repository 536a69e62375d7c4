"""Each rule reports a journal that violates it."""

from collections.abc import Iterator
from datetime import UTC, datetime

import pytest

from fairlane.core.live_job import JobId
from fairlane.ids import firing_id
from fairlane.store.views import ErrorView, JobView, Progress
from simulation.journal import Command, Journal, Run, Submission
from simulation.loop import SimulatedLoop
from simulation.program import KINDS, SCHEDULE, Plan
from simulation.rules.explanations import check_explanation
from simulation.rules.final_states import check_ends
from simulation.rules.firings import check_firings
from simulation.rules.rates import check_rates
from simulation.rules.stalls import check_stalls
from simulation.rules.start_conditions import check_start
from simulation.rules.submission_order import check_order
from simulation.rules.uniqueness import check_keys, check_refusals


@pytest.fixture
def journal() -> Iterator[Journal]:
    loop = SimulatedLoop()
    book = Journal(loop)
    book.on_begin = lambda run: check_start(book, run)
    yield book
    loop.close()


def submission(journal: Journal, id: str, kind: str = "plain", **facts: object) -> Submission:
    """Record an accepted job; each is acknowledged before the next is sent."""
    number = journal.next_number()
    values = {"lane": None, "key": None, "priority": 1, "run_at": None, "depends_on": (), **facts}
    found = Submission(
        id=id, kind=KINDS[kind], plan=Plan([1.0], ["ok"]), number=number, sent_at=number,
        process="A1", acknowledged_at=number + 0.5, batch=(id,), **values,  # type: ignore[arg-type]
    )  # fmt: skip
    journal.submissions[id] = found
    return found


def begin(journal: Journal, id: str, kind: str = "plain", lane: str | None = None) -> Run:
    return journal.begin(
        process="A1", job=id, task=kind, queue=KINDS[kind].queue, lane=lane, attempt=1, wall_at=0.0
    )


def broken(journal: Journal) -> set[str]:
    return {violation.split(":")[0] for violation in journal.violations}


def test_two_bodies_in_a_lane(journal: Journal) -> None:
    begin(journal, "a", "laned", lane="x")
    begin(journal, "b", "laned", lane="y")
    assert not journal.violations
    begin(journal, "c", "laned", lane="x")
    assert broken(journal) == {"one attempt per lane"}


def test_more_bodies_than_the_limit(journal: Journal) -> None:
    for id in "abc":
        begin(journal, id)
    assert not journal.violations
    begin(journal, "d")
    assert broken(journal) == {"max_concurrent"}


def test_a_body_in_a_paused_queue(journal: Journal) -> None:
    journal.paused["line"].record_sent("paused", -2.0).acknowledged_at = -1.0
    begin(journal, "a")
    assert broken(journal) == {"pauses"}


def test_an_unacknowledged_pause_may_or_may_not_hold(journal: Journal) -> None:
    journal.paused["line"].record_sent("paused", -2.0)
    begin(journal, "a")
    assert not journal.violations


def test_more_of_a_resource_than_there_is(journal: Journal) -> None:
    for id in "abc":
        begin(journal, id, "drawing")
    assert broken(journal) == {"resources"}


def test_a_use_of_a_body_that_no_longer_counts_ends_with_its_process(journal: Journal) -> None:
    frozen = begin(journal, "a", "patient")
    journal.mark_doubtful("A1")  # frozen past its lease; no leader counts it as dead, and it thaws
    use = journal.using("gpu", 1, frozen)
    use.__enter__()
    journal.killed("A1")
    assert journal.used["gpu"] == 0


def test_a_body_of_a_refused_job(journal: Journal) -> None:
    submission(journal, "a").refused = "duplicate"
    begin(journal, "a")
    assert broken(journal) == {"refusals"}


def test_a_body_before_its_dependency(journal: Journal) -> None:
    submission(journal, "a", depends_on=("b",))
    begin(journal, "a")
    assert broken(journal) == {"dependencies"}


def test_a_body_before_its_time(journal: Journal) -> None:
    submission(journal, "a", run_at=10.0)
    begin(journal, "a")
    assert broken(journal) == {"due times"}


def test_a_later_job_begins_first(journal: Journal) -> None:
    submission(journal, "a")
    submission(journal, "b")
    begin(journal, "b")
    begin(journal, "a")
    check_order(journal)
    assert broken(journal) == {"order"}


def test_too_many_starts_in_a_window(journal: Journal) -> None:
    for id in "abcd":
        journal.finish(begin(journal, id, "limited"), "ok")
    check_rates(journal)
    assert broken(journal) == {"rates"}


def test_two_live_jobs_of_one_key(journal: Journal) -> None:
    submission(journal, "a", "unique", key="k").acknowledged_at = -3.0
    submission(journal, "b", "unique", key="k").acknowledged_at = -2.0
    journal.submissions["a"].sent_at, journal.submissions["b"].sent_at = -4.0, -2.5
    begin(journal, "a", "unique")
    check_keys(journal)
    assert broken(journal) == {"uniqueness"}


def test_a_refusal_for_a_job_that_had_ended(journal: Journal) -> None:
    submission(journal, "a", "unique", key="k")
    refused = submission(journal, "b", "unique", key="k")
    refused.refused, refused.holder = "duplicate", "a"
    journal.ends["a"] = ("completed", refused.sent_at - 0.1)
    check_refusals(journal)
    assert broken(journal) == {"refusals"}


def test_a_completed_stage_that_runs_again(journal: Journal) -> None:
    run = begin(journal, "a", "staged", lane="x")
    journal.stage_ran(run)
    journal.stage_gave(run, run.number)
    assert not journal.violations
    journal.stage_ran(run)
    assert broken(journal) == {"stages"}


def cancelled(journal: Journal, id: str, state: str = "cancelled", at: float = -1.0) -> None:
    journal.commands.append(
        Command(
            "cancel", id, at - 1, journal.next_number(), acknowledged_at=at, answer={"state": state}
        )
    )


def past(journal: Journal, *ids: str, kind: str = "plain", **facts: object) -> list[Submission]:
    """Record jobs that were accepted before the world began, one after another."""
    found = [submission(journal, id, kind, **facts) for id in ids]
    for index, one in enumerate(found):
        one.sent_at, one.acknowledged_at = index - 20.0, index - 19.5
    return found


def ran(journal: Journal, id: str, kind: str = "plain", lane: str | None = None) -> Run:
    run = begin(journal, id, kind, lane)
    journal.finish(run, "ok")
    return run


def view(id: str, state: str, *, error: str | None = None) -> JobView:
    found = ErrorView(code=error, message="", retryable=False, traceback="") if error else None
    return JobView(
        id=JobId(id), task="plain", queue="line", lane=None, kind="work", state=state,
        priority="normal", position=None, params={}, progress=Progress(), stages=[], statistics={},
        attempt=1, crashes=0, stopping=False, waiting_for=[], error=found, result=None, meta={},
        artifacts=[], worker=None, device=None, due_at=None, created_at=datetime.now(UTC),
        started_at=None, updated_at=datetime.now(UTC), ended_at=None,
    )  # fmt: skip


def test_an_answered_cancel_of_a_job_that_ends_otherwise(journal: Journal) -> None:
    submission(journal, "a", depends_on=("x",))
    cancelled(journal, "a")
    check_ends(journal, {"a": view("a", "skipped")}, {})
    assert broken(journal) == {"answers"}


def test_a_stall_while_a_stage_waits(journal: Journal) -> None:
    run = begin(journal, "a", "patient")
    journal.stage_waits(run, True)
    journal.finish(run, "stopped")
    check_stalls(journal, {"a": view("a", "failed", error="stall")})
    assert broken(journal) == {"stalls"}


def test_a_stall_too_early(journal: Journal) -> None:
    journal.finish(begin(journal, "a", "patient"), "stopped")
    check_stalls(journal, {"a": view("a", "failed", error="stall")})
    assert broken(journal) == {"stalls"}


def test_too_few_attempts(journal: Journal) -> None:
    submission(journal, "a")
    journal.finish(begin(journal, "a"), "again")
    check_ends(journal, {"a": view("a", "failed", error="retryable")}, {})
    assert broken(journal) == {"attempts"}


def test_another_attempt_after_the_last(journal: Journal) -> None:
    submission(journal, "a")
    ran(journal, "a")
    begin(journal, "a").attempt = 2
    journal.finish(journal.runs[-1], "final")
    check_ends(journal, {"a": view("a", "failed", error="permanent")}, {})
    assert broken(journal) == {"attempts"}


def test_a_body_after_an_answered_cancel(journal: Journal) -> None:
    submission(journal, "a")
    cancelled(journal, "a", state="running")
    begin(journal, "a")
    assert broken(journal) == {"cancelled"}


def test_a_body_that_outlasts_the_acceptance_of_a_job_with_its_key(journal: Journal) -> None:
    past(journal, "a", "b", kind="unique", key="k")
    run = begin(journal, "a", "unique")
    run.began_at = run.since = -19.2
    check_keys(journal)
    assert broken(journal) == {"uniqueness"}


def test_more_starts_than_a_lowered_rate(journal: Journal) -> None:
    journal.rates["api"].record_sent(1, -2.0).acknowledged_at = -1.0
    for id in "ab":
        journal.finish(begin(journal, id, "limited"), "ok")
    check_rates(journal)
    assert broken(journal) == {"rates"}


def test_more_bodies_than_slots(journal: Journal) -> None:
    journal.slots["A1"] = 1
    begin(journal, "a")
    assert not journal.violations
    begin(journal, "b")
    assert broken(journal) == {"slots"}


@pytest.mark.parametrize("code", ["rate_limit", "resource", "strict", "worker"])
def test_an_explanation_with_a_wrong_reason(journal: Journal, code: str) -> None:
    submission(journal, "a")
    journal.slots["A1"] = 1
    reasons = [{"code": code, "message": "so it says"}]
    check_explanation(journal, "a", {"state": "queued", "reasons": reasons}, asked="A1")
    assert broken(journal) == {"explain"}


@pytest.mark.parametrize("code", ["lane_busy", "not_found", "internal_error", "conflict"])
def test_a_refusal_with_an_impossible_code(journal: Journal, code: str) -> None:
    (refused,) = past(journal, "a", kind="unique", key="k")
    refused.refused, refused.holder = code, "a"
    check_refusals(journal)
    assert broken(journal) == {"refusals"}


def test_a_refusal_that_names_an_unknown_job(journal: Journal) -> None:
    (refused,) = past(journal, "a", kind="unique", key="k")
    refused.refused, refused.holder = "duplicate", "x"
    check_refusals(journal)
    assert broken(journal) == {"refusals"}


def test_a_lower_priority_twice_before_a_higher_one(journal: Journal) -> None:
    past(journal, "a", "b", priority=2)
    past(journal, "c", priority=0)
    for id in "abc":
        ran(journal, id).since += 0.001 if id == "c" else 0.0
    check_order(journal)
    assert broken(journal) == {"priorities"}


def test_another_job_between_two_attempts_in_a_lane(journal: Journal) -> None:
    past(journal, "a", "b", kind="laned", lane="x")
    for id in "aba":
        ran(journal, id, "laned", lane="x")
    check_order(journal)
    assert broken(journal) == {"held lanes"}


def test_another_job_between_two_attempts_on_a_path(journal: Journal) -> None:
    past(journal, "a", "b", kind="writing", key="k")
    for id in "aba":
        ran(journal, id, "writing")
    check_order(journal)
    assert broken(journal) == {"held outputs"}


def test_another_job_between_two_attempts_in_a_strict_queue(journal: Journal) -> None:
    past(journal, "a", "b", kind="strict")
    for id in "aba":
        ran(journal, id, "strict")
    journal.runs[0].ended_at = -5.0
    check_order(journal)
    assert broken(journal) == {"strict"}


def test_two_turns_of_a_bucket_while_another_waits(journal: Journal) -> None:
    past(journal, "a", "b", kind="turning", lane="x")
    past(journal, "c", kind="turning", lane="y")
    ran(journal, "a", "turning", "x")
    ran(journal, "b", "turning", "x")
    ran(journal, "c", "turning", "y").since += 0.001
    check_order(journal)
    assert broken(journal) == {"rounds"}


def test_a_firing_whose_job_never_began(journal: Journal) -> None:
    check_firings(journal, [(30.0, "a")], {})
    assert broken(journal) == {"firings"}


def test_a_firing_during_a_pause(journal: Journal) -> None:
    at = 1_800_000_060.0  # the first full minute of a world
    job = firing_id(SCHEDULE, at)
    ran(journal, job, "tick")
    check_firings(journal, [(at, job)], {job: view(job, "completed")})
    assert not journal.violations
    journal.schedule_paused.record_sent(True, -2.0).acknowledged_at = -1.0
    check_firings(journal, [(at, job)], {job: view(job, "completed")})
    assert broken(journal) == {"firings"}
