"""What `explain` says is so. Asked and answered in one instant, so that nothing lies between."""

import re
from typing import Any

from simulation.journal import Journal
from simulation.program import LIMITS

_ID = re.compile(r"[0-9a-f]{8}-[0-9a-f-]{27}")


def check_explanation(journal: Journal, job: str, said: dict[str, Any]) -> None:
    sent = journal.sent.get(job)
    if sent is None:
        return
    now = journal.now()
    queue = sent.kind.queue
    running = [run for run in journal.running.values() if run.job == job]
    codes = [reason["code"] for reason in said["reasons"]]
    texts = {reason["code"]: reason["message"] for reason in said["reasons"]}
    journal.checked("explain")

    def wrong(why: str) -> None:
        journal.violate("explain", f"{job} in {queue}: {said}, but {why}")

    if not codes:
        wrong("it gives no reason")
    if said["state"] == "queued":
        if running:
            wrong("it runs")
        if codes == ["next"] or codes == ["turn"]:
            wrong("nothing that it names is in its way")
    if "paused" in codes and journal.paused[queue].possible(now) == {None}:
        wrong("the queue is not paused")
    is_paused = None not in journal.paused[queue].possible(now)
    if is_paused and said["state"] == "queued" and "paused" not in codes:
        wrong("the queue is paused")
    if "max_concurrent" in codes:
        limits = [most for most in journal.most[queue].possible(now) if most is not None]
        count = sum(run.queue == queue for run in journal.running.values())
        if not limits or (count < min(limits) and not _recent_trouble(journal)):
            wrong(f"{count} run, of {limits}")
    if "dependencies" in codes:
        ended = [on for on in sent.depends_on if on in journal.ends]
        again = any(journal.sent[on].retried for on in sent.depends_on if on in journal.sent)
        if len(ended) == len(sent.depends_on) and not again:
            wrong("all it depends on has ended")
    if "due" in codes and said["state"] == "scheduled" and sent.run_at is None:
        wrong("it was to run at once")
    if "lane" in codes:
        holder = next(iter(_ID.findall(texts["lane"])), None)
        if holder is not None:
            known = journal.sent.get(holder)
            if known is not None and (known.kind.queue, known.lane) != (queue, sent.lane):
                wrong(f"{holder} is not of that lane")
            end = journal.ends.get(holder)
            if end is not None and end[1] < now and not (known and known.retried):
                wrong(f"{holder} has ended")
    for key in LIMITS:
        if key in sent.kind.limits and "rate" in codes:
            per_seconds = LIMITS[key][1]
            since = now + journal.skipped_ahead - per_seconds
            count = sum(take.at > since for take in journal.takes[key])
            least = min(journal.rates[key].possible(now))
            if count < least and not _recent_trouble(journal):
                wrong(f"{count} of {least} starts were taken")


def _recent_trouble(journal: Journal) -> bool:
    """A start may have been decided and lost with its process, and still counts."""
    return any(at > journal.now() - 30 for at, _, _ in journal.troubles[-20:])
