"""One live job per dedupe key and per exclusive lane, and no refusal without a live holder."""

from simulation.journal import Journal, Sent


def check_keys(journal: Journal) -> None:
    """Fail if two jobs of one key were alive at once, on the evidence of their bodies."""
    for sent in journal.sent.values():
        if not sent.accepted or not _slot(sent):
            continue
        for other in journal.sent.values():
            if other is sent or _slot(other) != _slot(sent) or not other.accepted:
                continue
            if other.retried or sent.retried or (other.heard_at or 0) >= sent.sent_at:
                continue
            journal.checked("uniqueness")
            late = [r for r in journal.of_job.get(other.id, []) if r.since > (sent.heard_at or 0)]
            if late or _still_runs(journal, other, sent):
                journal.violate(
                    "uniqueness",
                    f"{sent.id} was accepted while {other.id} with the same {_slot(sent)} lived",
                )


def _still_runs(journal: Journal, first: Sent, second: Sent) -> bool:
    """Tell whether a body of the first outlasted the answer to the second.

    A frozen process is given up before it knows, so what it runs proves nothing.
    """
    at = second.heard_at or 0
    return any(
        run.began_at < at
        and (run.ended_at is None or run.ended_at > at)
        and run.how != "killed"
        and not any(what == "freeze" and whom == run.process for _, what, whom in journal.troubles)
        for run in journal.of_job.get(first.id, [])
    )


def check_refusals(journal: Journal) -> None:
    for sent in journal.sent.values():
        if sent.refused is not None and sent.refused not in _expected(journal, sent):
            journal.violate("refusals", f"{sent.id} was answered {sent.refused}")
        if sent.refused not in ("duplicate", "lane_busy") and not sent.merged:
            continue
        journal.checked("refusals")
        holder = sent.holder
        if holder is None:
            journal.violate("refusals", f"{sent.id} was refused and nobody named")
            continue
        known = journal.sent.get(holder)
        slots = {_slot(journal.sent[id]) for id in sent.batch}
        if known is None and not _may_be_a_rerun(journal, slots):
            journal.violate("refusals", f"{sent.id} was refused for {holder}, whom nobody knows")
        if known is not None and _slot(known) not in slots:
            journal.violate("refusals", f"{sent.id} was refused for {holder}, which has no claim")
        end = journal.ends.get(holder)
        if end is not None and end[1] < sent.sent_at and not (known and known.retried):
            journal.violate(
                "refusals", f"{sent.id} was refused for {holder}, which had ended as {end[0]}"
            )


def _expected(journal: Journal, sent: Sent) -> set[str]:
    """Return the codes that such a job may be refused with; a batch is refused as a whole."""
    codes = {"internal_error"} if journal.was_broken else set()
    for id in sent.batch:
        other = journal.sent[id]
        if other.kind.has_key:
            codes.add("duplicate")
        if other.kind.queue in ("single", "merged"):
            codes.add("lane_busy")
        if any(on not in journal.sent for on in other.depends_on):
            codes.add("not_found")
    return codes


def _may_be_a_rerun(journal: Journal, slots: set[str | None]) -> bool:
    """Tell whether somebody never heard which job a rerun of such a one became."""
    return any(
        told.verb == "rerun"
        and told.problem == "unknown"
        and told.subject in journal.sent
        and _slot(journal.sent[told.subject]) in slots
        for told in journal.told
    )


def _slot(sent: Sent) -> str | None:
    if sent.kind.has_key:
        return f"key {sent.key}"
    if sent.kind.queue in ("single", "merged"):
        return f"lane {sent.kind.queue}/{sent.lane}"
    return None
