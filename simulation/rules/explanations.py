"""The result of `explain` is true at the instant at which it is returned."""

import re
from collections.abc import Callable
from typing import Any

from simulation.journal import Journal
from simulation.program import LIMITS, STRICT_QUEUES

_ID = re.compile(r"[0-9a-f]{8}-[0-9a-f-]{27}")


def check_explanation(journal: Journal, job: str, said: dict[str, Any], *, asked: str) -> None:
    """Compare an explanation with the journal.

    `asked` is the process that answered: it leads, and only its own worker works.
    """
    submission = journal.submissions.get(job)
    if submission is None:
        return
    now = journal.now()
    queue = submission.kind.queue
    running = [run for run in journal.running.values() if run.job == job]
    codes = [reason["code"] for reason in said["reasons"]]
    texts = {reason["code"]: reason["message"] for reason in said["reasons"]}
    journal.checked("explain")
    for code in codes:
        journal.checked(f"explain {code}")

    def wrong(why: str) -> None:
        journal.violate("explain", f"{job} in {queue}: {said}, but {why}")

    if not codes:
        wrong("it gives no reason")
    if said["state"] == "queued":
        if running:
            wrong("it runs")
        if codes == ["next"] or codes == ["turn"]:
            wrong("nothing that it names is in its way")
    if "paused" in codes and journal.paused[queue].possible_values(now) == {None}:
        wrong("the queue is not paused")
    is_paused = None not in journal.paused[queue].possible_values(now)
    if is_paused and said["state"] == "queued" and "paused" not in codes:
        wrong("the queue is paused")
    if "max_concurrent" in codes:
        limits = [
            most for most in journal.max_concurrent[queue].possible_values(now) if most is not None
        ]
        count = sum(run.queue == queue for run in journal.running.values())
        if not limits or (count < min(limits) and not _recent_trouble(journal)):
            wrong(f"{count} run, of {limits}")
    if "dependencies" in codes:
        ended = [on for on in submission.depends_on if on in journal.ends]
        again = any(
            journal.submissions[on].retried
            for on in submission.depends_on
            if on in journal.submissions
        )
        if len(ended) == len(submission.depends_on) and not again:
            wrong("all it depends on has ended")
    if "due" in codes and said["state"] == "scheduled" and submission.run_at is None:
        wrong("it was to run at once")
    if "lane" in codes:
        holder = next(iter(_ID.findall(texts["lane"])), None)
        if holder is not None:
            known = journal.submissions.get(holder)
            if known is not None and (known.kind.queue, known.lane) != (queue, submission.lane):
                wrong(f"{holder} is not of that lane")
            end = journal.ends.get(holder)
            if end is not None and end[1] < now and not (known and known.retried):
                wrong(f"{holder} has ended")
    if said["state"] == "running":
        if {"rate_limit", "resource"} & set(codes) and not submission.kind.has_stages:
            wrong("it has no stage")
        return
    for key in LIMITS:
        if key in submission.kind.limits and "rate_limit" in codes:
            per_seconds = LIMITS[key][1]
            since = now + journal.skipped_ahead(now) - per_seconds
            count = sum(take.at > since for take in journal.rate_starts[key])
            least = min(journal.rates[key].possible_values(now))
            if count < least and not _recent_trouble(journal):
                wrong(f"{count} of {least} starts were taken")
    if "rate_limit" in codes and not submission.kind.limits:
        wrong("it has no rate limit")
    if "resource" in codes:
        if not submission.kind.uses:
            wrong("it uses no resource")
        for name, amount in submission.kind.uses:
            least = min(journal.amounts[name].possible_values(now))
            if journal.used[name] + amount <= least and not _recent_use(journal):
                wrong(f"{journal.used[name]} of {least} {name} are used")
    if "worker" in codes:
        busy = sum(
            run.process == asked and not run.kind.on_device for run in journal.running.values()
        )
        if busy < journal.slots[asked] and not _recent_trouble(journal):
            wrong(f"{busy} of {journal.slots[asked]} slots are taken")
    if "strict" in codes:
        _check_head(journal, queue, texts["strict"], wrong)


def _check_head(journal: Journal, queue: str, text: str, wrong: Callable[[str], None]) -> None:
    if queue not in STRICT_QUEUES:
        wrong("the queue is not strict")
    for head in _ID.findall(text):
        known = journal.submissions.get(head)
        if known is not None and known.kind.queue != queue:
            wrong(f"{head} is not of that queue")
        if head in journal.ends and not (known and known.retried):
            wrong(f"{head} has ended")


def _recent_use(journal: Journal) -> bool:
    """Return whether a use may have ended or been granted without the leader knowing it."""
    since = journal.now() - 30
    return _recent_trouble(journal) or any(
        (run.kind.uses or run.kind.has_stages) and (run.ended_at is None or run.ended_at > since)
        for run in journal.runs
    )


def _recent_trouble(journal: Journal) -> bool:
    """Return whether a decided start may have been lost with its process and still counts."""
    if journal.shared:
        return True  # a start may be in transit to another process
    return any(at > journal.now() - 30 for at, _, _ in journal.faults[-20:])
