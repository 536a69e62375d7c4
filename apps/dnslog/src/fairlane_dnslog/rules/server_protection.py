"""Protection of a server, switched as the rules demand.

Protection is never switched off without an end: a pause has a duration, so it ends by itself when
this program is gone. A long pause is prolonged by later runs. We end a pause early only if it is
ours: its end on the server is the one that we have recorded. A pause of the administrator stays.
"""

import math
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Final, Protocol

from msgspec import Struct

from fairlane_dnslog.adguard_answers import StatusAnswer
from fairlane_dnslog.rules.desired import Protection

LONGEST_PAUSE_SECONDS: Final = 24 * 3600.0
TOLERANCE_SECONDS: Final = 10.0  # between our clock and an end that the server counts down to
SHORTEST_PAUSE_SECONDS: Final = 1.0


class ProtectedServer(Protocol):
    def read_status(self) -> StatusAnswer: ...
    def set_protection(self, *, enabled: bool, duration_ms: int = 0) -> None: ...


class Switched(Struct, frozen=True, kw_only=True):
    """The change of protection, if any, and the end of our own pause."""

    change: str = ""
    until: float | None = None
    problem: str = ""


def switch_protection(
    server: ProtectedServer,
    demand: Protection,
    *,
    recorded_until: float | None,
    intend: Callable[[float], None],
    now: Callable[[], float],
) -> Switched:
    """Bring protection into the demanded state; call `intend` before a pause is requested."""
    paused_until = _paused_until(server, now)
    is_ours = (
        paused_until is not None
        and recorded_until is not None
        and abs(paused_until - recorded_until) <= TOLERANCE_SECONDS
    )
    if demand.state == "off":
        return _pause(server, demand, paused_until, is_ours=is_ours, intend=intend, now=now)
    if paused_until is not None and (is_ours or demand.state == "on"):
        server.set_protection(enabled=True)
        problem = "" if _paused_until(server, now) is None else _refused("on")
        return Switched(change="" if problem else "on", problem=problem)
    # A run that was killed after it had ended a pause could not report that.
    is_unreported = paused_until is None and (recorded_until or 0) > now() + TOLERANCE_SECONDS
    return Switched(change="on" if is_unreported else "")


def _pause(
    server: ProtectedServer,
    demand: Protection,
    paused_until: float | None,
    *,
    is_ours: bool,
    intend: Callable[[float], None],
    now: Callable[[], float],
) -> Switched:
    at = now()
    end = math.inf if demand.until is None else demand.until
    target = min(end, at + LONGEST_PAUSE_SECONDS)
    if paused_until is not None and _is_enough(paused_until, end, at, is_ours=is_ours):
        return Switched(until=paused_until if is_ours else None)
    if target - at < SHORTEST_PAUSE_SECONDS:
        return Switched(until=paused_until if is_ours else None)
    intend(target)
    server.set_protection(enabled=False, duration_ms=math.ceil((target - now()) * 1000))
    reached = _paused_until(server, now)
    if reached is None:
        return Switched(until=target, problem=_refused("off"))
    return Switched(
        change=f"off until {pause_text(target)}",
        until=reached if math.isfinite(reached) else target,
    )


def _is_enough(paused_until: float, end: float, at: float, *, is_ours: bool) -> bool:
    """Return whether the present pause fulfils the demand: one of the administrator may last
    longer, and one of ours may be a piece of a long one."""
    if end - at > LONGEST_PAUSE_SECONDS:
        return paused_until - at >= LONGEST_PAUSE_SECONDS / 2
    if is_ours:
        return abs(paused_until - end) <= TOLERANCE_SECONDS
    return paused_until >= end - TOLERANCE_SECONDS


def _paused_until(server: ProtectedServer, now: Callable[[], float]) -> float | None:
    """Return the end of the present pause, infinite if it has none; None if there is no pause."""
    status = server.read_status()
    if status.protection_enabled:
        return None
    duration_ms = status.protection_disabled_duration
    return now() + duration_ms / 1000 if duration_ms > 0 else math.inf


def _refused(state: str) -> str:
    return f"the server answered the request to switch protection {state}, and did not switch it"


def pause_text(at: float) -> str:
    return datetime.fromtimestamp(at, UTC).isoformat(timespec="seconds")
