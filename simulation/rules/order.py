"""Who was accepted first begins first, among those that want the same.

Only pairs are judged about which there is no doubt: the first had been accepted before the second
was sent, neither was moved about, and both ask for the same things. A job that never began (it was
cancelled, skipped, or lost its worker too often) has nothing to say.
"""

from collections import defaultdict

from simulation.journal import Journal, Run, Sent
from simulation.rules.turns import check_turns

_LOST_SECONDS = 90.0  # it may have spoken for itself just before, and be heard of when others lead


def check_order(journal: Journal) -> None:
    groups: dict[object, list[Sent]] = defaultdict(list)
    for sent in journal.sent.values():
        if sent.accepted and _is_plain(sent):
            groups[_alike(sent)].append(sent)
    for group in groups.values():
        group.sort(key=lambda sent: sent.number)
        _check_group(journal, group)
    check_turns(journal)


def _check_group(journal: Journal, group: list[Sent]) -> None:
    begun = [(sent, run) for sent in group if (run := _first(journal, sent)) is not None]
    for index, (later, its_run) in enumerate(begun):
        for earlier, run in begun[:index]:
            if _is_on_another_way(journal, run, its_run):
                continue
            if earlier.heard_at is not None and earlier.heard_at < later.sent_at:
                journal.checked("order")
                if run.number > its_run.number:
                    journal.violate(
                        "order",
                        f"{later.id} began before {earlier.id}, which was accepted first "
                        f"({later.kind.queue}, lane {later.lane})",
                    )


def check_moves(journal: Journal) -> None:
    """What was moved to the head begins before everything alike that waited then."""
    for told in journal.told:
        if told.verb != "move" or told.problem is not None or told.values != {"to": "head"}:
            continue
        moved = journal.sent.get(told.subject)
        if moved is None or told.heard_at is None or _moves(journal, moved) != 1:
            continue
        run = _first(journal, moved)
        if run is None or run.began_at <= told.heard_at or moved.run_at or moved.depends_on:
            continue
        for other in journal.sent.values():
            first = _first(journal, other)
            if (
                other is not moved
                and other.accepted
                and _is_plain(other)
                and _alike(other) == _alike(moved)
                and (other.heard_at or 0) < told.sent_at
                and first is not None
                and not _is_on_another_way(journal, run, first)
                and first.since > told.heard_at
            ):
                journal.checked("moves")
                if first.number < run.number and not _moved_since(journal, told.heard_at, moved):
                    journal.violate("moves", f"{other.id} began before {moved.id}, moved to head")


def _is_on_another_way(journal: Journal, one: Run, other: Run) -> bool:
    """Tell whether the later of two starts may have been faster.

    They went to different processes, or the first one to one that was lost, long before anybody
    knew that it was.
    """
    if not journal.shared or one.lane is not None:
        return False
    since, until = sorted((one.began_at, other.began_at))
    return one.process != other.process or any(
        since - _LOST_SECONDS <= at <= until for at, _, _ in journal.troubles
    )


def _moves(journal: Journal, sent: Sent) -> int:
    verbs = ("move", "priority", "retry", "cancel", "skip")
    return sum(told.subject == sent.id and told.verb in verbs for told in journal.told)


def _moved_since(journal: Journal, at: float, moved: Sent) -> bool:
    """Tell whether somebody else was put before it afterwards, which is right as well."""
    return any(
        told.verb in ("move", "priority", "retry") and told.subject != moved.id
        and (told.heard_at is None or told.heard_at >= at)
        for told in journal.told
    )  # fmt: skip


def _is_plain(sent: Sent) -> bool:
    return sent.run_at is None and not sent.depends_on and sent.touched is None and not sent.retried


def _alike(sent: Sent) -> object:
    if sent.kind.queue == "strict":
        return "strict"
    return (sent.kind.name, sent.lane, sent.priority)


def _first(journal: Journal, sent: Sent) -> Run | None:
    runs = journal.of_job.get(sent.id)
    return runs[0] if runs else None
