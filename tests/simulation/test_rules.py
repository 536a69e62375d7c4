"""The rules notice what they are there for: each is shown a journal that breaks it."""

from collections.abc import Iterator

import pytest

from simulation.journal import Journal, Run, Sent
from simulation.loop import SimulatedLoop
from simulation.program import KINDS, Plan
from simulation.rules.order import check_order
from simulation.rules.rates import check_rates
from simulation.rules.starting import check_start
from simulation.rules.uniqueness import check_keys, check_refusals


@pytest.fixture
def journal() -> Iterator[Journal]:
    loop = SimulatedLoop()
    book = Journal(loop)
    book.on_begin = lambda run: check_start(book, run)
    yield book
    loop.close()


def sent(journal: Journal, id: str, kind: str = "plain", **facts: object) -> Sent:
    """Write down an accepted job; one was heard of before the next is sent."""
    number = journal.next_number()
    values = {"lane": None, "key": None, "priority": 1, "run_at": None, "depends_on": (), **facts}
    found = Sent(
        id=id, kind=KINDS[kind], plan=Plan([1.0], ["ok"]), number=number, sent_at=number,
        process="A1", heard_at=number + 0.5, batch=(id,), **values,  # type: ignore[arg-type]
    )  # fmt: skip
    journal.sent[id] = found
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
    journal.paused["line"].sending("paused", -2.0).heard_at = -1.0
    begin(journal, "a")
    assert broken(journal) == {"pauses"}


def test_a_pause_that_nobody_confirmed_may_or_may_not_hold(journal: Journal) -> None:
    journal.paused["line"].sending("paused", -2.0)
    begin(journal, "a")
    assert not journal.violations


def test_more_of_a_resource_than_there_is(journal: Journal) -> None:
    for id in "abc":
        begin(journal, id, "drawing")
    assert broken(journal) == {"resources"}


def test_a_body_of_a_refused_job(journal: Journal) -> None:
    sent(journal, "a").refused = "duplicate"
    begin(journal, "a")
    assert broken(journal) == {"refusals"}


def test_a_body_before_what_it_depends_on(journal: Journal) -> None:
    sent(journal, "a", depends_on=("b",))
    begin(journal, "a")
    assert broken(journal) == {"dependencies"}


def test_a_body_before_its_time(journal: Journal) -> None:
    sent(journal, "a", run_at=10.0)
    begin(journal, "a")
    assert broken(journal) == {"due times"}


def test_the_later_one_first(journal: Journal) -> None:
    sent(journal, "a")
    sent(journal, "b")
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
    sent(journal, "a", "unique", key="k").heard_at = -3.0
    sent(journal, "b", "unique", key="k").heard_at = -2.0
    journal.sent["a"].sent_at, journal.sent["b"].sent_at = -4.0, -2.5
    begin(journal, "a", "unique")
    check_keys(journal)
    assert broken(journal) == {"uniqueness"}


def test_a_refusal_for_a_job_that_had_ended(journal: Journal) -> None:
    sent(journal, "a", "unique", key="k")
    refused = sent(journal, "b", "unique", key="k")
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
