"""Run one chain of power cuts: each world starts with the files that the previous cut left.

`python -m chaos.power_cut_chain …` runs one chain and prints a line of JSON for each cut. Every
world is a separate process, forked from this one, so that its modules are already imported.
"""

import argparse
import json
import os
import shutil
import sys
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import apsw

from chaos.journal import Entry, Journal
from chaos.power_cut_world import CUT, DATABASE, Plan, Synchronous, World

MAX_PROBLEMS = 5  # problems reported per cut


@dataclass
class Cut:
    """The findings after one power cut."""

    chain: int
    number: int
    where: str = ""
    loss: str = ""
    acknowledged: int = 0
    problems: list[str] = field(default_factory=list)


def chain(
    folder: Path, *, seed: int, number: int, cuts: int, synchronous: Synchronous | None
) -> Iterator[Cut]:
    """Cut the power `cuts` times; then let the last world drain and stop."""
    journal = Journal(folder / "journal")
    here = folder / "0"
    here.mkdir()
    for world in range(1, cuts + 2):
        last = world == cuts + 1
        plan = Plan.drawn(f"{seed}/{number}/{world}", synchronous=synchronous, last=last)
        there = folder / str(world)
        code = _run_world_in_child(here, folder / "journal", plan, there)
        found = Cut(number, world)
        if code != (0 if last else CUT):
            found.problems.append(f"its process ended with the code {code}; see its error output")
            yield found
            return
        entries = journal.entries()
        found.acknowledged = sum(entry.what == "acked" for entry in entries)
        if last:
            found.where = "the end"
            found.problems += judge(here, entries, over=True)
        else:
            cut = next(entry for entry in reversed(entries) if entry.what == "cut")
            found.where, found.loss = cut.text, cut.key
            found.problems += judge(there, entries, over=False)
        yield found
        if found.problems:
            return
        shutil.rmtree(here)
        here = there


def _run_world_in_child(here: Path, journal: Path, plan: Plan, there: Path) -> int:
    sys.stdout.flush()
    child = os.fork()
    if child == 0:
        try:
            World(here, journal, plan).run(there)
        except BaseException:  # noqa: BLE001 - a forked process must not go on as its parent
            sys.excepthook(*sys.exc_info())
            sys.stderr.flush()
            os._exit(1)
        os._exit(0)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def judge(folder: Path, entries: list[Entry], *, over: bool) -> list[str]:
    """Compare a disk with the journal.

    A copy is opened, so that the next world finds the disk unchanged.
    """
    copy = folder.with_name(f"{folder.name}-copy")
    shutil.copytree(folder, copy, ignore=shutil.ignore_patterns("*-shm"))
    try:
        connection = apsw.Connection(str(copy / DATABASE))
        try:
            problems = [
                *_integrity(connection),
                *_check_stored_jobs(connection, entries, over=over),
            ]
        finally:
            connection.close()
    except apsw.Error as error:
        problems = [f"the database cannot be read: {error!r}"]
    shutil.rmtree(copy)
    problems += _order(entries)
    return problems[:MAX_PROBLEMS]


def _integrity(connection: apsw.Connection) -> list[str]:
    said = connection.execute("PRAGMA integrity_check").get
    return [] if said == "ok" else [f"integrity_check says {said}"]


def _check_stored_jobs(
    connection: apsw.Connection, entries: list[Entry], *, over: bool
) -> list[str]:
    """Check that no acknowledged job is lost or undone, and no body began before it was durable."""
    acked = [entry for entry in entries if entry.what == "acked"]
    if not connection.execute("SELECT count(*) FROM sqlite_schema").get:
        # The power failed before the first commit: no job can have been acknowledged.
        return ["there are no tables, but jobs were acknowledged"] if acked else []
    live: dict[str, Any] = {
        id: (state, attempt, lane, (priority, position))
        for id, state, attempt, lane, priority, position in connection.execute(
            "SELECT id, state, attempt, lane, priority, position FROM job"
        )
    }
    ended: dict[str, tuple[str, int]] = {
        id: (state, attempt)
        for id, state, attempt in connection.execute("SELECT id, state, attempt FROM ended")
    }
    known = live.keys() | ended.keys()
    problems = [f"acknowledged job {e.job} is lost" for e in acked if e.job not in known]
    problems += [f"job {id} is both live and ended" for id in live.keys() & ended.keys()]
    for entry in entries:
        if entry.what == "seen ended" and ended.get(entry.job, ("", 0))[0] != entry.key:
            was = (ended.get(entry.job) or live.get(entry.job) or ("lost",))[0]
            problems.append(f"job {entry.job} was seen {entry.key} and is {was}")
        if entry.what == "begin":
            attempt = (ended.get(entry.job) or live.get(entry.job) or ("", 0))[1]
            if attempt < entry.attempt:
                problems.append(
                    f"attempt {entry.attempt} of job {entry.job} began; stored is {attempt}"
                )
    if over and live:
        problems.append(f"{len(live)} jobs have not ended after the last world drained")
    problems += _settings(connection, entries, over=over)
    waiting = {id: row for id, row in live.items() if row[0] == "queued" and row[1] == 0}
    problems += _positions(waiting, entries)
    return problems


def _settings(connection: apsw.Connection, entries: list[Entry], *, over: bool) -> list[str]:
    """Check that acknowledged settings are in force; the last unacknowledged one may be."""
    body = connection.execute("SELECT body FROM record WHERE kind = 'queue' AND name = 'held'").get
    record = json.loads(body) if body else {"paused": None, "operator": {}}
    found = {
        "paused": int(record["paused"] is not None),
        "max_concurrent": record["operator"].get("max_concurrent"),
    }
    problems = []
    for key, value in found.items():
        if over and key == "paused":
            continue  # the last world resumed it
        allowed: set[int | None] = {0 if key == "paused" else None}
        for entry in entries:
            if entry.key == key and entry.what == "commanding":
                allowed.add(entry.value)
            elif entry.key == key and entry.what == "commanded":
                allowed = {entry.value}
        if value not in allowed:
            problems.append(f"{key} of the queue is {value}, acknowledged was {allowed}")
    return problems


def _positions(waiting: dict[str, Any], entries: list[Entry]) -> list[str]:
    """Check that of two waiting jobs of a lane, the one acknowledged before the other was submitted
    comes first."""
    problems = []
    highest: dict[str, tuple[Any, str]] = {}
    for asked, job in _in_order(entries, waiting):
        lane, place = waiting[job][2], waiting[job][3]
        if asked:
            before = highest.get(lane)
            if before is not None and before[0] > place:
                problems.append(f"job {job} stands before {before[1]} in {lane}, which came first")
        elif lane not in highest or highest[lane][0] < place:
            highest[lane] = (place, job)
    return problems


def _in_order(entries: list[Entry], jobs: dict[str, Any]) -> Iterator[tuple[bool, str]]:
    """Yield submissions (True) and acknowledgements (False) of these jobs in their order."""
    for entry in entries:
        if entry.job in jobs and entry.what in ("asked", "acked"):
            yield entry.what == "asked", entry.job


def _order(entries: list[Entry]) -> list[str]:
    """Check that the bodies of a lane first begin in the order of acknowledgement, and never
    overlap."""
    problems = []
    # Number of acknowledged jobs of its lane when a job was submitted.
    asked_after: dict[str, int] = {}
    acked: dict[str, list[str]] = {}
    lanes: dict[str, str | None] = {}
    begun: set[str] = set()
    gone: set[str] = set()
    running: dict[str, str] = {}
    for entry in entries:
        if entry.what == "asked":
            lanes[entry.job] = entry.lane
            asked_after[entry.job] = len(acked.setdefault(entry.lane or "", []))
        elif entry.what == "acked":
            acked[lanes[entry.job] or ""].append(entry.job)
        elif entry.what == "cancelling":
            gone.add(entry.job)  # it may end without having begun
        elif entry.what == "seen ended" and entry.key == "cancelled":
            begun.add(entry.job)
        elif entry.what == "cut":
            running.clear()
        elif entry.what == "end":
            running.pop(entry.lane or "", None)
        elif entry.what == "begin":
            lane = entry.lane or ""
            if lane in running:
                problems.append(f"job {entry.job} began beside {running[lane]} in {lane}")
            running[lane] = entry.job
            if entry.job not in begun:
                passed = [
                    job for job in acked[lane][: asked_after[entry.job]]
                    if job not in begun and job not in gone
                ]  # fmt: skip
                if passed:
                    problems.append(f"job {entry.job} began before {passed[0]} of its lane")
            begun.add(entry.job)
    return problems


def main() -> None:
    parser = argparse.ArgumentParser(description="Make one chain of power cuts.")
    parser.add_argument("folder", type=Path)
    parser.add_argument("--seed", type=int, required=True)
    parser.add_argument("--chain", type=int, required=True)
    parser.add_argument("--cuts", type=int, required=True)
    parser.add_argument("--synchronous", choices=["NORMAL", "OFF"])
    given = parser.parse_args()
    given.folder.mkdir(parents=True, exist_ok=True)
    for cut in chain(
        given.folder,
        seed=given.seed,
        number=given.chain,
        cuts=given.cuts,
        synchronous=given.synchronous,
    ):
        sys.stdout.write(json.dumps(asdict(cut)) + "\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main()
