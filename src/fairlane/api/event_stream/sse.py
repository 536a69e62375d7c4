"""`GET /api/events`: the event stream as server-sent events."""

import asyncio
from typing import Annotated, Any, Final

from fastapi import APIRouter, Depends, Header, Query
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from fairlane.api.event_stream.stream import EventStream, event_stream_of
from fairlane.api.models import LARGEST
from fairlane.api.problems import problem_docs

router = APIRouter(tags=["state"])

RETRY_MILLISECONDS: Final = 1_000

_HEADERS: Final = {
    "Cache-Control": "no-store",
    "X-Accel-Buffering": "no",  # a buffering proxy would delay the events
}
_EXAMPLE: Final = (
    "event: job_state_changed\nid: 42\n"
    'data: {"seq":42,"prev":41,"type":"job_state_changed","at":"2026-11-16T06:32:00Z",'
    '"job":"…","queue":"default","data":{"state":"running","from":"queued"}}\n\n'
)
_DOCUMENTED: Final[dict[int | str, dict[str, Any]]] = {
    200: {
        "description": "A stream that does not end by itself. After a `resync` event, request "
        "`GET /api/state` again: `after` was too old, or the client fell behind.",
        "content": {"text/event-stream": {"schema": {"type": "string"}, "example": _EXAMPLE}},
    }
}


class SseResponse(Response):
    """A response that streams events until the client disconnects or the engine stops."""

    media_type = "text/event-stream"

    def __init__(
        self, stream: EventStream, after: int | None, *, job: str | None, queue: str | None
    ) -> None:
        super().__init__(headers=_HEADERS)
        del self.headers["content-length"]
        self._stream = stream
        self._after = after
        self._job, self._queue = job, queue

    async def __call__(self, _: Scope, receive: Receive, send: Send) -> None:
        following = self._stream.follow(self._after, job=self._job, queue=self._queue)
        async with following as follower:
            disconnect = asyncio.create_task(_wait_for_disconnect(receive))
            disconnect.add_done_callback(lambda _: follower.disconnect())
            try:
                start = {"type": "http.response.start", "status": 200, "headers": self.raw_headers}
                await send(start)
                # With this id, a client that loses the connection before the first event resumes.
                number = b"" if follower.cursor is None else b"id: %d\n" % follower.cursor
                await _send_body(send, b"retry: %d\n%b\n" % (RETRY_MILLISECONDS, number))
                while (delivery := await follower.next_delivery()) is not None:
                    await _send_body(send, delivery.sse())
                await send({"type": "http.response.body", "body": b"", "more_body": False})
            finally:
                disconnect.cancel()


async def _send_body(send: Send, body: bytes) -> None:
    await send({"type": "http.response.body", "body": body, "more_body": True})


async def _wait_for_disconnect(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass


@router.get(
    "/events", operation_id="events", response_class=SseResponse,
    responses=_DOCUMENTED | problem_docs(),
)  # fmt: skip
async def events(
    stream: Annotated[EventStream, Depends(event_stream_of)],
    after: Annotated[
        int | None,
        Query(ge=0, le=LARGEST, description="Begin above this `seq`; without it, with new events."),
    ] = None,
    job: Annotated[str | None, Query(max_length=200, description="Only this job.")] = None,
    queue: Annotated[str | None, Query(max_length=200, description="Only this queue.")] = None,
    last_event_id: Annotated[
        str | None,
        Header(max_length=40, description="The last id received; browsers send it on reconnect."),
    ] = None,
) -> Response:
    """Stream events in the order of their `seq`, as they are committed.

    Each event has `prev`, the `seq` of the event before it on this stream. If `prev` is not the
    last `seq` received, events are missing: request `GET /api/state` again.
    """
    return SseResponse(stream, _starting_seq(after, last_event_id), job=job, queue=queue)


def _starting_seq(after: int | None, last_event_id: str | None) -> int | None:
    """Prefer Last-Event-ID: a reconnecting browser sends it with the original URL."""
    if not last_event_id:
        return after
    is_number = last_event_id.isascii() and last_event_id.isdecimal()
    return int(last_event_id) if is_number else LARGEST  # LARGEST: forces a resync
