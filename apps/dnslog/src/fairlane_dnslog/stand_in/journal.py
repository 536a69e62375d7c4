"""The journal of the stand-in: an append-only file of every query that it logged.

A query has one JSON line, written before any client can read the query. A line `dropped` says
that the log lost the queries up to a number, because of its bound or at a restart.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import msgspec
from msgspec import Struct

from fairlane_dnslog.stand_in.queries import LoggedQuery


class Dropped(Struct, frozen=True, tag_field="event", tag="dropped"):
    """The log no longer has the queries `from_number` to `to_number`."""

    from_number: int
    to_number: int
    reason: str


class JournalContents(NamedTuple):
    queries: list[LoggedQuery]
    dropped: list[Dropped]

    @property
    def first_in_log(self) -> int:
        """The number of the oldest query that the log still has."""
        return max((line.to_number for line in self.dropped), default=0) + 1


class Journal:
    """The open file; without a path nothing is written."""

    def __init__(self, path: Path | None) -> None:
        self._file = path.open("ab", buffering=0) if path else None
        self._encoder = msgspec.json.Encoder()

    def append(self, lines: Sequence[LoggedQuery | Dropped]) -> None:
        """Write lines; they survive the death of this process when the call returns."""
        if self._file is not None and lines:
            self._file.write(self._encoder.encode_lines(lines))

    def close(self) -> None:
        if self._file is not None:
            self._file.close()


def read_journal(path: Path) -> JournalContents:
    """Read a journal, also while it is written: an incomplete last line is ignored."""
    queries: list[LoggedQuery] = []
    dropped: list[Dropped] = []
    decoder = msgspec.json.Decoder(LoggedQuery | Dropped)
    if not path.exists():
        return JournalContents(queries, dropped)
    with path.open("rb") as file:
        for line in file:
            if not line.endswith(b"\n"):
                break
            event = decoder.decode(line)
            if isinstance(event, LoggedQuery):
                queries.append(event)
            else:
                dropped.append(event)
    return JournalContents(queries, dropped)
