"""The table `process_rules`: which process has loaded which version of the rules.

The name of a process is unique over time: host, process id, and the start time of the process,
which tells it from a later process with the same id.
"""

import os
import re
import socket
from collections.abc import Collection
from pathlib import Path
from typing import Final

from msgspec import Struct

from fairlane_dnslog.database import Transaction

OLDEST_SECONDS: Final = 7 * 24 * 3600.0  # of a row of another machine, on SQLite

_WRITE: Final = """
INSERT INTO process_rules (process, version, loaded_at) VALUES (:process, :version, :loaded_at)
ON CONFLICT (process) DO UPDATE SET version = excluded.version, loaded_at = excluded.loaded_at
"""
_DELETE: Final = "DELETE FROM process_rules WHERE process = :process"
_SELECT: Final = "SELECT process, version, loaded_at FROM process_rules ORDER BY process LIMIT 1000"
_SESSIONS: Final = "SELECT DISTINCT application_name FROM pg_stat_activity"
_NAME: Final = re.compile(r"dnslog (?P<host>\S+) (?P<id>[0-9]+) (?P<started>[0-9]+)")


class ProcessRow(Struct, frozen=True, kw_only=True):
    process: str
    version: int
    loaded_at: float


def process_name() -> str:
    """Return the name of this process, short enough for a name of a PostgreSQL session."""
    host = _host_part(socket.gethostname())
    return f"dnslog {host} {os.getpid()} {_started(os.getpid())}"


def find_process(rows: Collection[ProcessRow], leader: str) -> str | None:
    """Return the name of the process that Fairlane describes, with its host and its id."""
    words = set(re.findall(r"[A-Za-z0-9.-]+", leader))
    for row in rows:
        name = _NAME.fullmatch(row.process)
        if name is not None and {name["host"], name["id"]} <= words:
            return row.process
    return None


def _host_part(host: str) -> str:
    return re.sub(r"[^A-Za-z0-9.-]", "-", host)[:32] or "localhost"


def write_process(tx: Transaction, row: ProcessRow) -> None:
    tx.run(_WRITE, process=row.process, version=row.version, loaded_at=row.loaded_at)


def remove_process(tx: Transaction, process: str) -> None:
    tx.run(_DELETE, process=process)


def read_processes(tx: Transaction) -> list[ProcessRow]:
    return [ProcessRow(**row) for row in tx.rows(_SELECT)]


def running_processes(tx: Transaction, *, now: float) -> tuple[str, ...]:
    """Return the names of the processes that run: by the sessions of PostgreSQL, or, for a SQLite
    file, by the processes of this machine."""
    rows = read_processes(tx)
    if tx.dialect == "sqlite":
        return tuple(row.process for row in rows if _is_alive(row, now))
    sessions = {str(row["application_name"]) for row in tx.rows(_SESSIONS)}
    return tuple(row.process for row in rows if row.process in sessions)


def remove_dead(
    tx: Transaction, *, own: str, now: float, alive: Collection[str] | None = None
) -> None:
    """Remove the rows of processes that are gone; `alive` are the names of all that are not.

    Without `alive`, only processes of this machine can be checked; others leave by their age.
    """
    for row in read_processes(tx):
        if row.process == own:
            continue
        if alive is None:
            is_dead = not _is_alive(row, now)
        else:
            is_dead = row.process not in alive
        if is_dead:
            remove_process(tx, row.process)


def _is_alive(row: ProcessRow, now: float) -> bool:
    name = _NAME.fullmatch(row.process)
    if name is None:
        return False
    if name["host"] != process_name().split(" ")[1]:
        return now - row.loaded_at < OLDEST_SECONDS
    number = int(name["id"])
    try:
        os.kill(number, 0)
    except (ProcessLookupError, OverflowError):
        return False
    except PermissionError:
        pass  # it is a process of another user
    return _started(number) == int(name["started"])


def _started(process: int) -> int:
    """Return the start time of a process in ticks since the machine started; 0 if unknown."""
    try:
        text = Path(f"/proc/{process}/stat").read_text(encoding="utf-8", errors="replace")
        return int(text.rpartition(")")[2].split()[19])
    except (OSError, ValueError, IndexError):
        return 0
