"""A short run of every kind of chaos, and tests that its checks detect violations."""

import random
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

from chaos.bad_disks import Unsupported, full_disk, unwritable
from chaos.checks import CHECKS, Timeline, final_states
from chaos.journal import Entry
from chaos.kills import kills
from chaos.power_cuts import power_cuts
from chaos.result import Result
from chaos.unsynced_disk import SECTOR, FileContent, UnsyncedDisk
from fairlane.ids import firing_id
from tests.support.chaos_entries import accepted, entry, span

# Starting real programs takes long while many tests run; each single wait has a shorter bound.
pytestmark = pytest.mark.timeout(180)


async def inject(
    kind: Callable[..., Awaitable[None]], folder: Path, *, times: int, **options: Any
) -> Result:
    result = Result(kind.__name__, [])
    try:
        await kind(folder / "run", result, seed=1, times=times, tick=lambda: None, **options)
    except Unsupported as error:
        pytest.skip(str(error))
    return result


async def test_no_acknowledged_job_is_lost_when_a_program_is_killed_under_load(
    tmp_path: Path,
) -> None:
    result = await inject(kills, tmp_path, times=3)
    assert result.problems == []
    assert result.counts["kills"] >= 3
    assert result.counts["integrity checks"] > result.counts["kills"]
    assert result.counts["jobs acknowledged"] > 0


async def test_no_acknowledged_job_is_lost_on_a_slow_disk(tmp_path: Path) -> None:
    result = await inject(kills, tmp_path, times=1, slow_seconds=0.1)
    assert result.problems == []
    assert result.counts["jobs acknowledged"] > 0


async def test_a_full_disk_is_reported_and_jobs_continue_when_there_is_space(
    tmp_path: Path,
) -> None:
    result = await inject(full_disk, tmp_path, times=1)
    assert result.problems == []
    assert result.counts["times full"] == 1
    assert result.counts["refused: store_unavailable"] > 0


async def test_a_read_only_database_is_reported_and_jobs_continue_when_it_is_writable(
    tmp_path: Path,
) -> None:
    result = await inject(unwritable, tmp_path, times=1)
    assert result.problems == []
    assert result.counts["starts refused"] == 1


async def test_no_acknowledged_job_is_lost_in_a_power_cut(tmp_path: Path) -> None:
    result = await inject(power_cuts, tmp_path, times=12)
    assert result.problems == []
    assert result.counts["power cuts"] == 12
    assert result.counts["jobs acknowledged"] > 0


@pytest.mark.parametrize("synchronous", ["NORMAL", "OFF"])
async def test_power_cuts_detect_a_database_with_too_few_syncs(
    tmp_path: Path, synchronous: str
) -> None:
    """The run ends with the first problem that it finds, so most of the 50 cuts are not made."""
    result = await inject(power_cuts, tmp_path, times=50, synchronous=synchronous)
    assert result.counts["lost, undone or out of order"] > 0


# the files after a power cut


def cut(content: FileContent, seed: int = 0) -> bytes:
    return content.content_after_cut(random.Random(seed), "some")


def test_only_synced_content_is_certain_to_survive_a_power_cut() -> None:
    content = FileContent(b"old")
    content.write(b"new", 0)
    assert content.content_after_cut(random.Random(0), "all") == b"old"
    assert content.content_after_cut(random.Random(0), "nothing") == b"new"
    content.sync()
    assert content.content_after_cut(random.Random(0), "all") == b"new"


def test_a_write_is_torn_only_at_sector_boundaries() -> None:
    content = FileContent(b"a" * 4 * SECTOR)
    content.write(b"b" * 3 * SECTOR, SECTOR // 2)
    found = {cut(content, seed) for seed in range(200)}
    # Both ends of the write lie inside a sector; a sector is written whole or not at all.
    for left in found:
        assert len(set(left[SECTOR : 2 * SECTOR])) == 1
        assert left[: SECTOR // 2] == b"a" * (SECTOR // 2)
    assert len(found) == 2**4


def test_a_sector_has_the_content_of_one_of_its_writes_after_a_power_cut() -> None:
    content = FileContent(b"0")
    for text in (b"1", b"2", b"3"):
        content.write(text, 0)
    assert {cut(content, seed) for seed in range(100)} == {b"0", b"1", b"2", b"3"}


def test_a_truncation_can_be_lost_in_a_power_cut() -> None:
    content = FileContent(b"x" * SECTOR)
    content.truncate(0)
    content.write(b"y", 0)
    found = {cut(content, seed) for seed in range(200)}
    assert found == {b"x" * SECTOR, b"y" + b"x" * (SECTOR - 1), b"", b"\0", b"y"}


@pytest.mark.parametrize("is_synced", [True, False])
def test_a_file_name_survives_a_power_cut_only_when_its_folder_was_synced(
    tmp_path: Path, is_synced: bool
) -> None:
    (tmp_path / "old").write_bytes(b"old")
    disk = UnsyncedDisk(tmp_path)
    disk.deleted("old", synced=False)
    made = disk.opened("new")
    made.write(b"new", 0)
    made.sync()
    if is_synced:
        disk.sync_names()
    left = disk.content_after_cut(random.Random(0), "all")
    assert left == ({"new": b"new"} if is_synced else {"old": b"old"})


# the checks


def command(key: str, queue: str, value: int, at: float) -> list[Entry]:
    facts = {"key": key, "queue": queue, "value": value}
    return [entry("commanding", at, **facts), entry("commanded", at + 0.1, **facts)]


STARTED = entry("started", 0)
BAD = {
    "overlaps": [*span("a", 1, 3, lane="x"), *span("b", 2, 4, lane="x")],
    "out of order": [
        *accepted("a", 1, lane="x"), *accepted("b", 2, lane="x"),
        *span("b", 3, 4, lane="x"), *span("a", 5, 6, lane="x"),
    ],
    "passed by after a kill": [
        *span("a", 1, None, queue="line"), entry("killed", 2),
        *span("b", 3, 4, queue="line", program=2),
        *span("a", 5, 6, queue="line", program=2, attempt=2),
    ],
    "begun after a cancel": [entry("cancelled", 1, job="a", key="cancelled"), *span("a", 2, 3)],
    "begun while paused": [STARTED, *command("pause", "lanes", 1, at=1), *span("a", 9, 10)],
    "limits exceeded": [
        STARTED, *command("max_concurrent", "lanes", 1, at=1),
        *span("a", 9, 11), *span("b", 10, 12),
    ],
    "rates exceeded": [
        one for n in range(11) for one in span(f"{n}", n / 100, n / 100, queue="rated")
    ],
    "begun too early": [*accepted("a", 1, wall=5.0), *span("a", 2, 3)],
    "duplicates": [*accepted("a", 1, key="k"), *accepted("b", 2, key="k"), *span("a", 3, 4)],
    "wrong firings": span(firing_id("tick", 1000.5), 1001, 1002, key="tick"),
    "repeated attempts": [*span("a", 1, None), *span("a", 2, None)],
}  # fmt: skip
GOOD = {
    "overlaps": [*span("a", 1, 2, lane="x"), *span("b", 3, 4, lane="x")],
    "out of order": [
        *accepted("a", 1, lane="x"), *accepted("b", 2, lane="x"),
        *span("a", 3, 4, lane="x"), *span("b", 5, 6, lane="x"),
    ],
    "passed by after a kill": [
        *span("a", 1, None, queue="line"), *span("b", 1, None, queue="line"), entry("killed", 2),
        *span("a", 3, 4, queue="line", program=2, attempt=2),
        *span("b", 5, 6, queue="line", program=2, attempt=2),
        *span("c", 7, 8, queue="line", program=2),
    ],
    "begun after a cancel": [*span("a", 1, 3), entry("cancelled", 2, job="a", key="running")],
    "begun while paused": [
        STARTED, *command("pause", "lanes", 1, at=1), *command("pause", "lanes", 0, at=8),
        *span("a", 9, 10),
    ],
    "limits exceeded": [
        STARTED, *command("max_concurrent", "lanes", 2, at=1),
        *span("a", 9, 11), *span("b", 10, 12),
    ],
    "rates exceeded": [one for n in range(20) for one in span(f"{n}", n, n, queue="rated")],
    "begun too early": [*accepted("a", 1, wall=5.0), *span("a", 5, 6)],
    "duplicates": [*accepted("a", 1, key="k"), *span("a", 2, 3), *accepted("b", 4, key="k")],
    "wrong firings": span(firing_id("tick", 1000.0), 1001, 1002, key="tick"),
    "repeated attempts": [*span("a", 1, None), *span("a", 2, None, attempt=2)],
}  # fmt: skip


@pytest.mark.parametrize("name", CHECKS)
def test_every_check_detects_its_violation(name: str) -> None:
    assert len(list(CHECKS[name](Timeline(BAD[name])))) == 1
    assert list(CHECKS[name](Timeline(GOOD[name]))) == []


def test_a_child_program_that_outlives_its_killed_worker_overlaps_the_next_attempt() -> None:
    killed = entry("killed", 2)
    first, second = span("a", 1, None, lane="x"), span("a", 3, 4, lane="x", attempt=2, program=2)
    check = CHECKS["overlaps"]
    assert list(check(Timeline([*first, killed, *second]))) == []
    late = entry("beat", 3.1, job="a", attempt=1)
    assert len(list(check(Timeline([*first, killed, *second, late])))) == 1


def test_a_pause_applies_at_once_to_a_program_that_is_started_later() -> None:
    paused = command("pause", "lanes", 1, at=1)
    begun = span("a", 1.5, 2, program=2)
    check = CHECKS["begun while paused"]
    early, late = entry("started", 0.5, program=2), entry("started", 1.2, program=2)
    assert list(check(Timeline([*paused, *begun, early]))) == []
    assert len(list(check(Timeline([*paused, *begun, late])))) == 1


@pytest.mark.parametrize(
    ("ended", "live"),
    [
        ({}, []),
        ({}, ["a"]),
        ({"a": "completed"}, ["a"]),
        ({"a": "completed"}, []),
        ({"a": "cancelled"}, []),
        ({"a": "failed"}, []),
        ({"a": "skipped"}, []),
    ],
)
def test_an_acknowledged_job_needs_one_final_state_with_a_reason(
    ended: dict[str, str], live: list[str]
) -> None:
    assert len(list(final_states(Timeline(accepted("a", 1)), ended, live, 0))) == 1


def test_a_job_with_a_finished_body_may_be_completed() -> None:
    timeline = Timeline([*accepted("a", 1), *span("a", 2, 3)])
    assert list(final_states(timeline, {"a": "completed"}, [], 0)) == []
