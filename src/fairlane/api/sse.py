"""`GET /api/events`: what happens, as server-sent events."""

import asyncio
from typing import Annotated, Any, Final

from fastapi import APIRouter, Depends, Header, Query
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from fairlane.api.event_stream import Stream, the_stream
from fairlane.api.models import LARGEST
from fairlane.api.problems import documented

router = APIRouter(tags=["state"])

RETRY_MILLISECONDS: Final = 1_000

_HEADERS: Final = {
    "Cache-Control": "no-store",
    "X-Accel-Buffering": "no",  # a proxy that waits for more would hold back the news
}
_EXAMPLE: Final = (
    "event: job_state_changed\nid: 42\n"
    'data: {"seq":42,"prev":41,"type":"job_state_changed","at":"2026-11-16T06:32:00Z",'
    '"job":"…","queue":"default","data":{"state":"running","from":"queued"}}\n\n'
)
_DOCUMENTED: Final[dict[int | str, dict[str, Any]]] = {
    200: {
        "description": "A stream that does not end by itself. A `resync` says: take "
        "`GET /api/state` again, because what was asked for is too old, or you fell behind.",
        "content": {"text/event-stream": {"schema": {"type": "string"}, "example": _EXAMPLE}},
    }
}


class EventStream(Response):
    """A response that goes on until the client or the engine has had enough."""

    media_type = "text/event-stream"

    def __init__(
        self, stream: Stream, after: int | None, *, job: str | None, queue: str | None
    ) -> None:
        super().__init__(headers=_HEADERS)
        del self.headers["content-length"]
        self._stream = stream
        self._after = after
        self._job, self._queue = job, queue

    async def __call__(self, _: Scope, receive: Receive, send: Send) -> None:
        following = self._stream.following(self._after, job=self._job, queue=self._queue)
        async with following as follower:
            hanging_up = asyncio.create_task(_hung_up(receive))
            hanging_up.add_done_callback(lambda _: follower.leave())
            try:
                start = {"type": "http.response.start", "status": 200, "headers": self.raw_headers}
                await send(start)
                # The number is where a client goes on that is cut off before the first event.
                number = b"" if follower.cursor is None else b"id: %d\n" % follower.cursor
                await _write(send, b"retry: %d\n%b\n" % (RETRY_MILLISECONDS, number))
                while (portion := await follower.next()) is not None:
                    await _write(send, portion.sse())
                await send({"type": "http.response.body", "body": b"", "more_body": False})
            finally:
                hanging_up.cancel()


async def _write(send: Send, body: bytes) -> None:
    await send({"type": "http.response.body", "body": body, "more_body": True})


async def _hung_up(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass


@router.get(
    "/events", operation_id="events", response_class=EventStream,
    responses=_DOCUMENTED | documented(),
)  # fmt: skip
async def events(
    stream: Annotated[Stream, Depends(the_stream)],
    after: Annotated[
        int | None,
        Query(ge=0, le=LARGEST, description="Begin above this `seq`; without it, from now on."),
    ] = None,
    job: Annotated[str | None, Query(max_length=200, description="Only this job.")] = None,
    queue: Annotated[str | None, Query(max_length=200, description="Only this queue.")] = None,
    last_event_id: Annotated[
        str | None,
        Header(max_length=40, description="What a browser sends when it comes back: its last id."),
    ] = None,
) -> Response:
    """Give events in the order of their `seq` as they are committed.

    Each carries `prev`, the `seq` before it on this stream: where that is not what you had last,
    something is missing, and you take `GET /api/state` again.
    """
    return EventStream(stream, _begin(after, last_event_id), job=job, queue=queue)


def _begin(after: int | None, last_event_id: str | None) -> int | None:
    """What a browser sends by itself is newer than the address it was once given."""
    if not last_event_id:
        return after
    is_number = last_event_id.isascii() and last_event_id.isdecimal()
    return int(last_event_id) if is_number else LARGEST  # that never was, so it means a resync
