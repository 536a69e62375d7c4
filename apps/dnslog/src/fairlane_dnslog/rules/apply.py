"""Bring a server into the state that the rules demand.

A run reads the rules and the server, and writes only what differs; so it can be repeated at any
time, and a run that was killed at any line is completed by the next one:

- before a pause of protection: nothing has happened, or only the intended end is recorded;
- after it: the recorded end shows that the pause is ours;
- after the custom rules were written: the block on the server shows which lines are ours;
- the audit row of a pause is written with its intended end; that of other changes compares with
  the last record, so the next run writes it if this one could not.

AdGuard Home can only replace all custom rules at once, so foreign lines are read directly before
each write, and read again after it. Runs for the same server must not overlap.
"""

import time
from collections.abc import Callable, Sequence
from typing import Final, Protocol

from msgspec import Struct

from fairlane_dnslog.adguard_answers import FilteringAnswer, Service, StatusAnswer
from fairlane_dnslog.database import Database, DatabaseError
from fairlane_dnslog.rules.applied import (
    AppliedRow,
    read_applied,
    record_applied,
    record_failure,
    record_intent,
)
from fairlane_dnslog.rules.audit import record_audit
from fairlane_dnslog.rules.block import filter_lines, find_lines, make_block, with_block
from fairlane_dnslog.rules.desired import Desired, desired_state, needs_services
from fairlane_dnslog.rules.errors import BlockNotKept
from fairlane_dnslog.rules.rule_store import load_rules
from fairlane_dnslog.rules.server_protection import Switched, pause_text, switch_protection

ATTEMPTS: Final = 3
ACTOR: Final = "timed rules"
MOST_LISTED: Final = 50

Clock = Callable[[], float]


class FilteringServer(Protocol):
    """The requests to a server that timed rules need."""

    def read_filtering(self) -> FilteringAnswer: ...
    def write_rules(self, rules: Sequence[str]) -> None: ...
    def read_status(self) -> StatusAnswer: ...
    def set_protection(self, *, enabled: bool, duration_ms: int = 0) -> None: ...
    def read_services(self) -> list[Service]: ...


class FoundBlock(Struct, frozen=True):
    """Our lines on a server before a run; `is_whole` if no foreign line is among them."""

    lines: tuple[str, ...]
    is_whole: bool
    is_filtering: bool


class Changes(Struct, frozen=True, kw_only=True):
    """The result of a run: filter lines that came and went, protection, and problems.

    `is_repaired` reports that our block on the server was not the one that we had written.
    """

    version: int
    added: tuple[str, ...] = ()
    removed: tuple[str, ...] = ()
    protection: str = ""
    is_repaired: bool = False
    problems: tuple[str, ...] = ()

    @property
    def is_empty(self) -> bool:
        return not (self.added or self.removed or self.protection or self.is_repaired)


def reconcile(
    server: FilteringServer, database: Database, *, name: str, now: Clock = time.time
) -> Changes:
    """Apply the rules of this instant to a server, record the result, and return the changes.

    An error is recorded as well, and raised.
    """
    try:
        return _reconcile(server, database, name=name, now=now)
    except Exception as error:
        try:
            with database.transaction() as tx:
                record_failure(tx, name, error=str(error) or type(error).__name__, now=now())
        except DatabaseError:
            pass  # the first error is the one to report
        raise


def _reconcile(server: FilteringServer, database: Database, *, name: str, now: Clock) -> Changes:
    with database.reading() as tx:
        rules = load_rules(tx)
        before = read_applied(tx, name)
    at = now()
    services: dict[str, list[str]] = {}
    if needs_services(rules, server=name, at=at):
        services = {service.id: service.rules for service in server.read_services()}
    desired = desired_state(rules, server=name, at=at, services=services)

    def intend(until: float) -> None:
        with database.transaction() as tx:
            record_intent(tx, name, until=until, now=now())
            record_audit(
                tx,
                at=now(),
                actor=ACTOR,
                action="protection paused",
                subject=f"server {name}",
                detail={"until": pause_text(until), "rule": desired.protection.rule},
            )

    switched = switch_protection(
        server, desired.protection, recorded_until=before.protection_until, intend=intend, now=now
    )
    block = make_block(desired.lines)
    found = _write_block(server, name, block, written=before.block)
    changes = _changes(rules.version, desired, before, found, switched)
    with database.transaction() as tx:
        record_applied(
            tx,
            AppliedRow(
                server=name,
                version=rules.version,
                applied_at=now(),
                block=block,
                protection_until=switched.until,
                problems=changes.problems,
            ),
        )
        if changes.added or changes.removed or changes.is_repaired or changes.protection == "on":
            record_audit(
                tx, at=now(), actor=ACTOR, action="rules applied", subject=f"server {name}",
                detail=_detail(changes),
            )  # fmt: skip
    return changes


def _write_block(
    server: FilteringServer, name: str, block: Sequence[str], *, written: Sequence[str]
) -> FoundBlock:
    """Bring the block onto the server, and return the lines of ours that were there before."""
    known = {*filter_lines(written), *filter_lines(block)}
    first: FoundBlock | None = None
    for attempt in range(ATTEMPTS + 1):
        filtering = server.read_filtering()
        present = filtering.user_rules or []
        found = find_lines(present, written=known)
        if first is None:
            is_whole = with_block(found, found.ours) == present
            first = FoundBlock(found.ours, is_whole=is_whole, is_filtering=filtering.enabled)
        wanted = with_block(found, block)
        if wanted == present:
            return first
        if attempt < ATTEMPTS:
            server.write_rules(wanted)
    raise BlockNotKept(name, ATTEMPTS)


def _changes(
    version: int,
    desired: Desired,
    before: AppliedRow,
    found: FoundBlock,
    switched: Switched,
) -> Changes:
    new, old = set(filter_lines(desired.lines)), set(filter_lines(before.block))
    problems = list(desired.problems)
    if switched.problem:
        problems.append(switched.problem)
    if new and not found.is_filtering:
        problems.append("filtering is disabled on the server, so no filter line has an effect")
    # After a crash the server may have the desired block already, and the record an older one.
    was_expected = found.is_whole and found.lines in (before.block, make_block(desired.lines))
    return Changes(
        version=version,
        added=tuple(sorted(new - old)),
        removed=tuple(sorted(old - new)),
        protection=switched.change,
        is_repaired=not was_expected,
        problems=tuple(problems),
    )


def _detail(changes: Changes) -> dict[str, object]:
    return {
        "version": changes.version,
        "added": len(changes.added),
        "removed": len(changes.removed),
        "lines_added": changes.added[:MOST_LISTED],
        "lines_removed": changes.removed[:MOST_LISTED],
        "protection": changes.protection,
        "repaired": changes.is_repaired,
        "problems": changes.problems,
    }
