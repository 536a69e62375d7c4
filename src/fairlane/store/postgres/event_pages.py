"""Events in pages: the events of a commit are one row, or a few rows if there are many."""

from collections.abc import Iterable, Iterator, Sequence
from datetime import UTC, datetime
from operator import attrgetter
from typing import Any, Final

import msgspec
from msgspec import Raw

from fairlane.core.decisions import Event
from fairlane.core.live_job import JobId
from fairlane.store.commit_rows import Group, event_groups
from fairlane.store.views import EventView

PAGE: Final = 500  # events; to read one of them is to read its page

_encode: Final = msgspec.json.Encoder().encode
_decode: Final = msgspec.json.Decoder(
    list[tuple[tuple[float, str, str | None, dict[str, Any]], list[tuple[int, JobId | None]]]]
).decode


def pages(events: Sequence[Event]) -> Iterator[tuple[int, int, str]]:
    """Yield the last and the first number of each page, and the text of the page."""
    for start in range(0, len(events), PAGE):
        page = events[start : start + PAGE]
        groups = [
            Group((*shared, Raw(data.encode())), members)
            for (*shared, data), members in map(attrgetter("shared", "members"), event_groups(page))
        ]
        yield page[-1].seq, page[0].seq, _encode(groups).decode()


def events_in(bodies: Iterable[str], *, after: int, limit: int) -> list[EventView]:
    """Return the first events after a number."""
    found = [
        EventView(seq=seq, type=type, at=moment, job=job, queue=queue, data=data)
        for body in bodies
        for (at, type, queue, data), members in _decode(body)
        for moment in [datetime.fromtimestamp(at, UTC)]
        for seq, job in members
        if seq > after
    ]
    return sorted(found, key=attrgetter("seq"))[:limit]
