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
            if late:
                journal.violate(
                    "uniqueness",
                    f"{sent.id} was accepted while {other.id} with the same {_slot(sent)} lived",
                )


def check_refusals(journal: Journal) -> None:
    for sent in journal.sent.values():
        if sent.refused == "internal_error" and not journal.was_broken:
            journal.violate("refusals", f"{sent.id} was answered internal_error")
        if sent.refused not in ("duplicate", "lane_busy") and not sent.merged:
            continue
        journal.checked("refusals")
        holder = sent.holder
        if holder is None:
            journal.violate("refusals", f"{sent.id} was refused and nobody named")
            continue
        known = journal.sent.get(holder)
        slots = {_slot(journal.sent[id]) for id in sent.batch}
        if known is not None and _slot(known) not in slots:
            journal.violate("refusals", f"{sent.id} was refused for {holder}, which has no claim")
        end = journal.ends.get(holder)
        if end is not None and end[1] < sent.sent_at and not (known and known.retried):
            journal.violate(
                "refusals", f"{sent.id} was refused for {holder}, which had ended as {end[0]}"
            )


def _slot(sent: Sent) -> str | None:
    if sent.kind.has_key:
        return f"key {sent.key}"
    if sent.kind.queue in ("single", "merged"):
        return f"lane {sent.kind.queue}/{sent.lane}"
    return None
