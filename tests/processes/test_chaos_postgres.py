"""A short run of chaos on PostgreSQL, and tests that its checks detect violations."""

from pathlib import Path

import pytest

from chaos.bad_disks import Unsupported
from chaos.journal import Entry
from chaos.postgres.checks import (
    CHECKS,
    SharedTimeline,
    discarded_results,
    final_states,
    overlaps_of_stale,
    rates_are_kept,
    repeats,
    stale_results,
)
from chaos.postgres.ended_job import EndedJob
from chaos.postgres.failover import failover
from chaos.postgres.fault_counts import DEFAULT_COUNTS, PARTS, FaultCounts
from chaos.postgres.run import postgres
from chaos.result import Result
from fairlane.ids import firing_id
from tests.support.chaos_entries import accepted, entry, span

# Starting real programs takes long while many tests run; each single wait has a shorter bound.
pytestmark = pytest.mark.timeout(240)


async def test_every_guarantee_holds_while_leaders_workers_and_the_server_fail(
    tmp_path: Path,
) -> None:
    result = Result("postgres", [])
    counts = FaultCounts(kills=2, freezes=1, restarts=1, terminations=1)
    try:
        await postgres(
            tmp_path, result, seed=5, counts=counts, tick=lambda: None, engines=2, workers=2,
            hurried=True,
        )  # fmt: skip
    except Unsupported as error:
        pytest.skip(str(error))
    assert result.problems == []
    assert result.counts["leaders killed"] == result.counts["workers killed"] == 2
    assert result.counts["restarts of PostgreSQL"] == 1
    assert result.counts["freezes longer than the lease"] == 1
    assert result.counts["jobs acknowledged"] > 0
    assert result.counts["firings of the schedule"] > 1


async def test_another_process_takes_over_when_the_leader_is_killed(tmp_path: Path) -> None:
    result = Result("failover", [])
    try:
        await failover(tmp_path, result, seed=1, times=1, freezes=0, backlog=200, tick=lambda: None)
    except Unsupported as error:
        pytest.skip(str(error))
    assert result.problems == []
    assert result.counts["leader killed, 0 queued: times"] == 1
    assert result.counts["leader killed, 200 queued: times"] == 1


# the checks


def tick(at: float, begun: float) -> list[Entry]:
    return span(firing_id("tick", at), begun, begun, key="tick", queue="ticks")


def frozen(since: float, until: float, *, program: int = 1) -> list[Entry]:
    return [entry("frozen", since, program=program), entry("thawed", until, program=program)]


TICKS = [*tick(1000.0, 1000.1), *tick(1002.0, 1002.1)]
BAD = {
    "overlaps": [*span("a", 1, 3, lane="x"), *span("b", 2, 4, lane="x", program=2)],
    "out of order": [
        *accepted("a", 1, lane="x"), *accepted("b", 2, lane="x"),
        *span("b", 3, 4, lane="x"), *span("a", 5, 6, lane="x"),
    ],
    "limits exceeded": [
        *span("a", 1, 5, queue="scarce"), *span("b", 2, 5, queue="scarce"),
        *span("c", 3, 5, queue="scarce", program=2),
    ],
    "firings missing or doubled": [*TICKS, *tick(1006.0, 1006.1)],
    "begun after a cancel": [entry("cancelled", 1, job="a", key="cancelled"), *span("a", 2, 3)],
    "repeated attempts": [*span("a", 1, 2), *span("a", 3, 4, program=2)],
}  # fmt: skip
GOOD = {
    "overlaps": [*span("a", 1, 3, lane="x"), *span("b", 3.1, 4, lane="x", program=2)],
    "out of order": [
        *accepted("a", 1, lane="x"), *accepted("b", 2, lane="x"),
        *span("a", 3, 4, lane="x"), *span("b", 5, 6, lane="x"),
    ],
    "limits exceeded": [
        *span("a", 1, None, queue="scarce"), *span("b", 2, 5, queue="scarce"), entry("dead", 2.5),
        *span("c", 3, 5, queue="scarce", program=2),
    ],
    "firings missing or doubled": [*TICKS, *tick(1004.0, 1009.0)],
    "begun after a cancel": [*span("a", 1, 3), entry("cancelled", 2, job="a", key="running")],
    "repeated attempts": [*span("a", 1, 2), *span("a", 3, 4, attempt=2, program=2)],
}  # fmt: skip


@pytest.mark.parametrize("name", CHECKS)
def test_every_check_detects_its_violation(name: str) -> None:
    assert len(list(CHECKS[name](SharedTimeline(BAD[name])))) == 1
    assert list(CHECKS[name](SharedTimeline(GOOD[name]))) == []


@pytest.mark.parametrize("at", [1001.0, 1002.5])
def test_a_firing_at_no_instant_of_the_schedule_is_detected(at: float) -> None:
    timeline = SharedTimeline([*TICKS, *tick(at, 1002.6)])
    assert len(list(CHECKS["firings missing or doubled"](timeline))) == 1


def test_a_firing_that_a_thawed_process_ran_is_not_missing() -> None:
    timeline = SharedTimeline([*frozen(990, 1003.9), *TICKS, *tick(1004.0, 1004.1)])
    assert list(CHECKS["firings missing or doubled"](timeline)) == []
    assert len(timeline.stale) == 3


def test_a_firing_before_its_instant_is_detected() -> None:
    timeline = SharedTimeline([*TICKS, *tick(1004.0, 1003.9)])
    assert len(list(CHECKS["firings missing or doubled"](timeline))) == 1


def test_a_schedule_that_never_fires_is_detected() -> None:
    assert len(list(CHECKS["firings missing or doubled"](SharedTimeline([])))) == 1


@pytest.mark.parametrize(("thawed_at", "problems"), [(9.0, 1), (14.0, 0)])
def test_overlaps_are_excused_only_for_a_process_frozen_past_its_lease(
    thawed_at: float, problems: int
) -> None:
    first = span("a", 1, 15, lane="x")
    second = span("a", 8 if problems else 13.5, 14.2, lane="x", attempt=2, program=2)
    timeline = SharedTimeline([*first, *frozen(2, thawed_at), *second])
    assert len(list(CHECKS["overlaps"](timeline))) == problems
    assert overlaps_of_stale(timeline) == 1 - problems
    assert discarded_results(timeline) == 1 - problems
    assert timeline.seconds_after_thaw() == (0.0 if problems else 1.0)


def test_an_overlap_of_a_job_that_starts_after_the_thaw_is_not_excused() -> None:
    first = span("a", 16.5, 18, lane="x")
    second = span("b", 17, 18, lane="x", program=2)
    timeline = SharedTimeline([*frozen(2, 14), *first, *second])
    assert len(list(CHECKS["overlaps"](timeline))) == 1


@pytest.mark.parametrize(("beat", "problems"), [(2.9, 0), (3.1, 1)])
def test_a_body_in_a_child_process_ends_with_its_last_beat(beat: float, problems: int) -> None:
    first = span("a", 1, None, lane="x", text="child")
    last_seen = entry("beat", beat, job="a", attempt=1)
    second = span("a", 3, 4, lane="x", attempt=2, program=2)
    timeline = SharedTimeline([*first, last_seen, *second])
    assert len(list(CHECKS["overlaps"](timeline))) == problems


def ended(id: str, state: str = "completed", **facts: object) -> dict[str, EndedJob]:
    return {id: EndedJob(id=id, state=state, **{"queue": "lanes", **facts})}  # type: ignore[arg-type]


def test_a_result_of_a_stale_attempt_is_detected() -> None:
    timeline = SharedTimeline([*span("a", 1, 5), *span("a", 3, 4, attempt=2, program=2)])
    assert len(list(stale_results(timeline, ended("a", made=(1, 1))))) == 1
    assert list(stale_results(timeline, ended("a", made=(2, 2)))) == []
    assert repeats(timeline) == 1


@pytest.mark.parametrize(
    "found",
    [
        {},
        ended("a"),  # its body has no end in the journal
        ended("a", "cancelled"),
        ended("a", "skipped"),
        ended("a", "failed", error="crash_loop"),
        ended("a", "failed", queue="quick", error="internal_error"),
    ],
)
def test_an_acknowledged_job_needs_a_final_state_with_a_reason(found: dict[str, EndedJob]) -> None:
    timeline = SharedTimeline(accepted("a", 1))
    assert len(list(final_states(timeline, found, 0))) == 1


def test_a_cancellation_that_was_undone_is_detected() -> None:
    cancelled = entry("cancelled", 3, job="a", key="cancelled")
    timeline = SharedTimeline([*accepted("a", 1), *span("a", 2, 2.5), cancelled])
    assert len(list(final_states(timeline, ended("a"), 0))) == 1


def test_a_dead_letter_is_detected() -> None:
    assert len(list(final_states(SharedTimeline([]), {}, 1))) == 1


def decided(id: str, at: float, *, attempt: int = 1) -> dict[str, EndedJob]:
    return ended(id, queue="rated", started_at=at, attempt=attempt)


@pytest.mark.parametrize(("step", "problems"), [(0.1, 1), (0.41, 0)])
def test_rates_are_checked_by_the_times_at_which_starts_were_decided(
    step: float, problems: int
) -> None:
    jobs: dict[str, EndedJob] = {}
    for number in range(6):
        jobs |= decided(f"{number}", 1000 + number * step)
    assert len(list(rates_are_kept(SharedTimeline([]), jobs))) == problems


def test_rates_are_also_checked_by_the_times_at_which_bodies_begin() -> None:
    jobs: dict[str, EndedJob] = {}
    entries: list[Entry] = []
    for number in range(6):
        jobs |= decided(f"{number}", 1000 + number * 0.41)
        entries += span(f"{number}", 1002 + number / 100, 1003, queue="rated")
    late = SharedTimeline(entries)  # bodies that begin long after their decision do not count
    assert list(rates_are_kept(late, jobs)) == []
    near = {id: job for number in jobs for id, job in decided(number, 1001.9).items()}
    assert len(list(rates_are_kept(late, near))) == 2  # decided at once, and begun soon after


def test_the_delay_of_an_attempt_that_was_repeated_is_unknown() -> None:
    jobs: dict[str, EndedJob] = {}
    entries: list[Entry] = []
    for number in range(6):
        jobs |= decided(f"{number}", 1010 + number * 0.41, attempt=2)
        entries += span(f"{number}", 1002 + number / 100, 1003, queue="rated")
    assert list(rates_are_kept(SharedTimeline(entries), jobs)) == []


# counts of faults


def test_the_faults_of_all_rounds_add_up_to_the_requested_counts() -> None:
    for counts in (DEFAULT_COUNTS, FaultCounts(kills=7, cuts=3), FaultCounts(terminations=1)):
        rounds = counts.rounds()
        assert sum(one.total for one in rounds) == counts.total
    assert len(DEFAULT_COUNTS.rounds()) == 10


def test_a_count_for_one_fault_leaves_out_the_other_faults() -> None:
    nothing = dict.fromkeys(PARTS)
    assert FaultCounts.of(nothing, each=None) == DEFAULT_COUNTS
    assert FaultCounts.of(nothing, each=2).total == 14
    assert FaultCounts.of({**nothing, "kills": 5}, each=None) == FaultCounts(kills=5)
