"""The diagnosis of a database: findings about its file or server, its leader, workers and jobs.

It does not need an engine, so it works where an engine would not start.
"""

import asyncio
import platform
from collections.abc import AsyncIterator, Iterator
from importlib.metadata import version
from typing import Any, Final

from fairlane.errors import NotFound
from fairlane.store.diagnosis import Condition, Finding
from fairlane.store.open_store import store_at
from fairlane.store.sqlite import SQLiteStore, diagnosis
from fairlane.worker.device import PAUSED

LONG_SECONDS: Final = 30.0
LONG_HISTORY: Final = 1_000_000


async def diagnose(address: str) -> AsyncIterator[Finding]:
    """Yield findings about a database, from the program down to its jobs, without a change."""
    yield Finding("Fairlane", "ok", f"version {version('fairlane')}")
    yield Finding("Python", "ok", f"{platform.python_version()} on {platform.system()}")
    store = store_at(address)
    condition: Condition | None
    if isinstance(store, SQLiteStore):
        file = diagnosis.FileExamination(store.path)
        for finding in await asyncio.to_thread(lambda: list(file.findings())):
            yield finding
        condition = file.condition
    elif store.single_process:
        raise NotFound(
            "memory:// exists only inside its program; use that program's server (--url)"
        )
    else:
        from fairlane.store.postgres import diagnosis as postgres
        from fairlane.store.postgres.address import Address

        server = postgres.ServerExamination(Address(address))
        async for finding in server.findings():
            yield finding
        condition = server.condition
    if condition is not None:
        for finding in findings_in(condition):
            yield finding


def findings_in(condition: Condition) -> Iterator[Finding]:
    """Yield findings about the present state of the tables."""
    live = sum(sum(states.values()) for states in condition.counts.values())
    yield _leadership(condition, live)
    yield _workers(condition)
    yield from _devices(condition)
    yield from _running(condition)
    yield from _waiting(condition)
    yield _inbox(condition)
    yield _dead_letters(condition)
    yield from _hooks(condition)
    yield _clock(condition)
    yield _history(condition)


def _leadership(condition: Condition, live: int) -> Finding:
    if condition.leader is not None:
        return Finding("leader", "ok", condition.leader)
    if live:
        return Finding(
            "leader", "warning", f"no process leads, and {_jobs(live)} wait",
            "start the program whose jobs they are; submissions are stored until then",
        )  # fmt: skip
    return Finding("leader", "ok", "no process leads; there are no jobs to decide about")


def _workers(condition: Condition) -> Finding:
    processes = {id: w for id, w in condition.workers.items() if not w.get("device")}
    names = [worker.get("name", id) for id, worker in processes.items()]
    if condition.silent:
        silent = ", ".join(condition.workers.get(id, {}).get("name", id) for id in condition.silent)
        return Finding(
            "workers", "warning", f"no lease renewal lately from {silent}",
            "its jobs run again on other workers when its lease has ended; check that process",
        )  # fmt: skip
    if condition.leader is None and names:
        return Finding("workers", "ok", f"none now; the last were {', '.join(sorted(names))}")
    if not names:
        return Finding("workers", "ok", "none")
    slots = sum(worker.get("slots", 0) for worker in processes.values())
    return Finding("workers", "ok", f"{', '.join(sorted(names))} with {slots} slots")


def _devices(condition: Condition) -> Iterator[Finding]:
    """Yield a finding about devices, if a program drives any."""
    driven = [worker for worker in condition.workers.values() if worker.get("device")]
    down = [
        f"{device['name']}: {device['note']}"
        for device in driven
        if not device.get("accepting") and device.get("note") not in ("", PAUSED)
    ]
    if down and condition.leader is not None:
        yield Finding(
            "devices", "warning", f"{len(down)} of {len(driven)} down: {'; '.join(sorted(down))}",
            "they are retried continuously; check that they are on and can be reached",
        )  # fmt: skip
    elif driven:
        names = ", ".join(sorted(device["name"] for device in driven))
        yield Finding("devices", "ok", names)


def _running(condition: Condition) -> Iterator[Finding]:
    lost = [job for job in condition.running if job.worker not in condition.workers]
    stopping = [job for job in condition.running if job.cancel_outputs]
    if condition.running and condition.leader is None:
        yield Finding(
            "running", "warning",
            f"{_jobs(len(condition.running))} ran when the last program ended",
            "they return to the queue when a program starts",
        )  # fmt: skip
    elif lost:
        shown = ", ".join(job.id for job in lost[:3])
        yield Finding(
            "running", "problem", f"{_jobs(len(lost))} run on an unregistered worker: {shown}",
            "restart the leading program; it returns them to the queue",
        )  # fmt: skip
    elif stopping:
        shown = ", ".join(f"{job.id} ({job.task})" for job in stopping[:3])
        yield Finding(
            "running", "warning", f"cancelled and still running: {shown}",
            "wait, or `fairlane cancel --force JOB` if its task has isolation=\"process\"",
        )  # fmt: skip
    else:
        yield Finding("running", "ok", _jobs(len(condition.running)))


def _waiting(condition: Condition) -> Iterator[Finding]:
    waiting = sum(condition.waiting_tasks.values())
    yield Finding("waiting", "ok", _jobs(waiting))
    workers = condition.workers.values()
    has_any_task = any(worker.get("tasks") is None for worker in workers)
    known = {task for worker in workers for task in worker.get("tasks") or ()}
    unknown = sorted(task for task in condition.waiting_tasks if task not in known)
    if condition.leader is not None and workers and unknown and not has_any_task:
        yield Finding(
            "tasks", "warning", f"no worker has the task {', '.join(unknown[:5])}, and jobs wait",
            "start the program that has it, or cancel those jobs",
        )  # fmt: skip
    paused = [queue for queue in condition.paused if sum(condition.counts.get(queue, {}).values())]
    if paused:
        yield Finding(
            "queues", "warning", f"paused with jobs in them: {', '.join(paused)}",
            "`fairlane resume QUEUE` lets them run",
        )  # fmt: skip


def _inbox(condition: Condition) -> Finding:
    if condition.inbox == 0 or condition.inbox_oldest_at is None:
        return Finding("inbox", "ok", "empty")
    seconds = condition.now - condition.inbox_oldest_at
    text = f"{condition.inbox} sent and not yet decided, the oldest {seconds:.0f} s ago"
    if condition.leader is not None and seconds > LONG_SECONDS:
        return Finding(
            "inbox", "problem", text,
            "the leader does not process its inbox; check its log, then restart it",
        )  # fmt: skip
    return Finding("inbox", "ok", text)


def _dead_letters(condition: Condition) -> Finding:
    if condition.dead_letters == 0:
        return Finding("dead letters", "ok", "none")
    return Finding(
        "dead letters", "warning",
        f"{condition.dead_letters} inputs could not be executed; the last error: "
        f"{(condition.last_dead_letter or '')[:200]}",
        "a fault in Fairlane: please report it with the rows of the table dead_letter",
    )  # fmt: skip


def _hooks(condition: Condition) -> Iterator[Finding]:
    """Yield a finding for each hook that has rejected ended jobs."""
    rejected: dict[str, list[dict[str, Any]]] = {}
    for notice in condition.notices:
        rejected.setdefault(notice["hook"], []).append(notice)
    for hook, notices in sorted(rejected.items()):
        oldest = max(0.0, condition.now - min(notice["ended_at"] for notice in notices))
        last = max(notices, key=lambda notice: float(notice["tried_at"]))
        yield Finding(
            "hooks", "warning",
            f"{hook} has not accepted {_jobs(len(notices))}, of which the oldest ended "
            f"{oldest:.0f} s ago; the last error: {last['error'][:200]}",
            "check the receiver or the function; the calls are repeated until the time that "
            "`retry_seconds` of `on_end` sets, a day by default",
        )  # fmt: skip


def _clock(condition: Condition) -> Finding:
    ahead = (condition.newest_at or 0.0) - condition.now
    if ahead > 1:
        return Finding(
            "time", "warning", f"the newest event lies {ahead:.0f} s in the future",
            "the clock was set back; scheduled jobs wait until it has caught up",
        )  # fmt: skip
    return Finding("time", "ok", "no event lies in the future")


def _history(condition: Condition) -> Finding:
    text = f"{_jobs(condition.ended)} ended"
    if condition.ended > LONG_HISTORY:
        return Finding(
            "history", "warning", text,
            "`fairlane prune --older-than 30d`, or keep_history=timedelta(days=30) in the app",
        )  # fmt: skip
    return Finding("history", "ok", text)


def _jobs(count: int) -> str:
    return "1 job" if count == 1 else f"{count:,} jobs"
