"""What is told together: events as bytes, made once and shared by everybody who follows."""

from collections.abc import Iterator, Sequence
from datetime import datetime
from functools import cached_property
from typing import Any, Final

import msgspec
from msgspec import Struct

from fairlane.core.lifecycle import Priority
from fairlane.store.views import EventView, instant

MOST_BYTES: Final = 256 * 1024  # that are handed to a connection at once

_NUMBERS: Final = {
    "job_state_changed": "due_at",
    "job_log": "at",
    "job_moved": "priority",
    "schedule_fired": "fire_at",
}

_encode: Final = msgspec.json.Encoder(enc_hook=str).encode


class _Rest(Struct, gc=False):
    """An event without its numbers, which depend on who is told."""

    type: str
    at: datetime
    job: str | None
    queue: str | None
    data: dict[str, Any]


class StreamMessage(Struct, gc=False):
    """One event; `rest` is its JSON after the numbers, from the comma on."""

    seq: int
    type: str
    job: str | None
    queue: str | None
    rest: bytes

    def json(self, prev: int) -> bytes:
        return b'{"seq":%d,"prev":%d%b' % (self.seq, prev, self.rest)

    def sse(self, prev: int) -> bytes:
        name = self.type.encode()
        return b"event: %b\nid: %d\ndata: %b\n\n" % (name, self.seq, self.json(prev))


def message_of(event: EventView) -> StreamMessage:
    rest = _encode(_Rest(event.type, event.at, event.job, event.queue, _shown(event)))
    return StreamMessage(event.seq, event.type, event.job, event.queue, b"," + rest[1:])


def _shown(event: EventView) -> dict[str, Any]:
    """Say an instant or a priority as every other answer does; the core has numbers for them."""
    field = _NUMBERS.get(event.type)
    number = event.data.get(field) if field is not None else None
    if field is None or number is None:
        return event.data
    shown = Priority(number).name.lower() if field == "priority" else instant(number)
    return {**event.data, field: shown}


class EventBatch:
    """Messages whose numbers follow one another without a gap."""

    def __init__(self, messages: list[StreamMessage]) -> None:
        self.messages = messages
        self.first = messages[0].seq
        self.last = messages[-1].seq
        self.bytes = sum(len(message.rest) for message in messages)

    @cached_property
    def sse(self) -> bytes:
        return b"".join(message.sse(message.seq - 1) for message in self.messages)

    @cached_property
    def texts(self) -> list[str]:
        return [message.json(message.seq - 1).decode() for message in self.messages]

    @cached_property
    def of_jobs(self) -> dict[str | None, list[StreamMessage]]:
        found: dict[str | None, list[StreamMessage]] = {}
        for message in self.messages:
            found.setdefault(message.job, []).append(message)
        return found

    @cached_property
    def of_queues(self) -> dict[str | None, list[StreamMessage]]:
        found: dict[str | None, list[StreamMessage]] = {}
        for message in self.messages:
            found.setdefault(message.queue, []).append(message)
        return found


def batches_of(events: Sequence[EventView]) -> Iterator[EventBatch]:
    """Cut events into batches of which each is a bearable mouthful for a connection."""
    messages: list[StreamMessage] = []
    size = 0
    for event in events:
        message = message_of(event)
        if messages and size + len(message.rest) > MOST_BYTES:
            yield EventBatch(messages)
            messages, size = [], 0
        messages.append(message)
        size += len(message.rest)
    if messages:
        yield EventBatch(messages)


class Portion(Struct):
    """What one follower is told next. One without messages only says that we are still here."""

    messages: Sequence[StreamMessage]
    prev: int  # the number before the first, on this follower's stream
    whole: EventBatch | None = None  # it is all of this one

    def sse(self) -> bytes:
        if self.whole is not None:
            return self.whole.sse
        return b"".join(m.sse(prev) for m, prev in self._with_prev()) or b":\n\n"

    def texts(self) -> list[str]:
        if self.whole is not None:
            return self.whole.texts
        return [m.json(prev).decode() for m, prev in self._with_prev()]

    def _with_prev(self) -> Iterator[tuple[StreamMessage, int]]:
        prev = self.prev
        for message in self.messages:
            yield message, prev
            prev = message.seq
