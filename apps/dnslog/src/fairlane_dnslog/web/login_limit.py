"""The limit on wrong passwords, counted in the database and so for all processes together.

An attempt is written as a failed one before the password is compared, and attempts are written one
after the other, so that attempts at the same time cannot exceed the limit. A refused attempt is not
written: the table stays small under attack. The limit over all addresses does not hold for an
address with a recent right password; otherwise a stranger could lock the family out.
"""

from ipaddress import IPv6Address, ip_address, ip_network
from typing import Final

from fairlane_dnslog.database import Database, Transaction

WINDOW_SECONDS: Final = 15 * 60.0
FAILURES_OF_AN_ADDRESS: Final = 5
FAILURES_OF_ALL: Final = 50
KNOWN_ADDRESS_SECONDS: Final = 30 * 86_400.0
LOGIN_LOCK: Final = 0x646E736C6F69  # next to the lock of the log

_COUNT: Final = """
SELECT count(*) AS failures, min(at) AS first_at FROM login_attempt
WHERE NOT succeeded AND at > :since {of_address}
"""
_IS_KNOWN: Final = """
SELECT 1 AS found FROM login_attempt
WHERE address = :address AND succeeded AND at > :since LIMIT 1
"""
_ADD: Final = """
INSERT INTO login_attempt (at, address, name, succeeded) VALUES (:at, :address, :name, false)
RETURNING id
"""
# One row of success for each address is sufficient.
_FORGET: Final = """
DELETE FROM login_attempt WHERE address = :address
    AND (succeeded OR (name = :name AND id <> :id))
"""
_TIDY: Final = """
DELETE FROM login_attempt WHERE at < :known_since OR (NOT succeeded AND at < :since)
"""


class TooManyAttempts(Exception):
    def __init__(self, seconds: float) -> None:
        self.seconds = max(1, round(seconds))
        super().__init__(
            f"too many wrong passwords; the next attempt is possible in {self.seconds} s"
        )


def begin_attempt(database: Database, *, address: str, name: str, now: float) -> int:
    """Write an attempt and return its id, or raise `TooManyAttempts`."""
    address = limited_address(address)
    since = now - WINDOW_SECONDS
    known_since = now - KNOWN_ADDRESS_SECONDS
    with database.transaction() as tx:
        _lock_attempts(tx)
        tx.run(_TIDY, since=since, known_since=known_since)
        own = tx.row(
            _COUNT.format(of_address="AND address = :address"), since=since, address=address
        )
        if own is not None and own["failures"] >= FAILURES_OF_AN_ADDRESS:
            raise TooManyAttempts(own["first_at"] - since)
        every = tx.row(_COUNT.format(of_address=""), since=since)
        if (
            every is not None
            and every["failures"] >= FAILURES_OF_ALL
            and tx.row(_IS_KNOWN, address=address, since=known_since) is None
        ):
            raise TooManyAttempts(every["first_at"] - since)
        added = tx.row(_ADD, at=now, address=address, name=name[:100])
    assert added is not None
    return int(added["id"])


def _lock_attempts(tx: Transaction) -> None:
    """Wait for other attempts to be written; SQLite has one writer anyway."""
    if tx.dialect == "postgres":
        tx.rows("SELECT pg_advisory_xact_lock(:lock)", lock=LOGIN_LOCK)


def record_success(database: Database, attempt: int, *, address: str, name: str) -> None:
    """Mark an attempt as right, and forget the wrong ones of this person at this address."""
    with database.transaction() as tx:
        tx.run(_FORGET, address=limited_address(address), name=name[:100], id=attempt)
        tx.run("UPDATE login_attempt SET succeeded = true WHERE id = :id", id=attempt)


def _without_port(address: str) -> str:
    """Return an address without the port that some proxies append."""
    if address.startswith("["):
        return address[1:].partition("]")[0]
    return address.partition(":")[0] if address.count(":") == 1 else address


def limited_address(address: str) -> str:
    """Return the address that is counted: of IPv6 its network, of which a home has a whole one."""
    try:
        found = ip_address(_without_port(address).split("%")[0])
    except ValueError:
        return address[:60]
    if isinstance(found, IPv6Address):
        if found.ipv4_mapped is not None:
            return str(found.ipv4_mapped)
        return str(ip_network((found, 64), strict=False))
    return str(found)
