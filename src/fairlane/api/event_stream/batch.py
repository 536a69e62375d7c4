"""Batches of encoded events: each event is encoded once and sent to all followers."""

from collections.abc import Iterator, Sequence
from datetime import datetime
from functools import cached_property
from typing import Any, Final

import msgspec
from msgspec import Struct

from fairlane.store.views import EventView, readable_event_data

MOST_BYTES: Final = 256 * 1024  # of one batch, and so of one write to a connection

_encode: Final = msgspec.json.Encoder(enc_hook=str).encode


class _EventBody(Struct, gc=False):
    """An event without `seq` and `prev`; `prev` depends on the follower."""

    type: str
    at: datetime
    job: str | None
    queue: str | None
    data: dict[str, Any]


class StreamMessage(Struct, gc=False):
    """One encoded event; `rest` is its JSON after `seq` and `prev`, from the comma on."""

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


def encode_event(event: EventView) -> StreamMessage:
    rest = _encode(
        _EventBody(event.type, event.at, event.job, event.queue, readable_event_data(event))
    )
    return StreamMessage(event.seq, event.type, event.job, event.queue, b"," + rest[1:])


class EventBatch:
    """Messages with consecutive numbers."""

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
    def by_job(self) -> dict[str | None, list[StreamMessage]]:
        found: dict[str | None, list[StreamMessage]] = {}
        for message in self.messages:
            found.setdefault(message.job, []).append(message)
        return found

    @cached_property
    def by_queue(self) -> dict[str | None, list[StreamMessage]]:
        found: dict[str | None, list[StreamMessage]] = {}
        for message in self.messages:
            found.setdefault(message.queue, []).append(message)
        return found


def split_into_batches(events: Sequence[EventView]) -> Iterator[EventBatch]:
    """Split events into batches of at most `MOST_BYTES`, or of one larger event."""
    messages: list[StreamMessage] = []
    size = 0
    for event in events:
        message = encode_event(event)
        if messages and size + len(message.rest) > MOST_BYTES:
            yield EventBatch(messages)
            messages, size = [], 0
        messages.append(message)
        size += len(message.rest)
    if messages:
        yield EventBatch(messages)


class Delivery(Struct):
    """The messages that one follower is sent next; without messages it is a heartbeat."""

    messages: Sequence[StreamMessage]
    prev: int  # the `seq` of the message before these, on this follower's stream
    whole: EventBatch | None = None  # set if the messages are exactly this batch

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
