"""`WS /api/ws`: the event stream over a WebSocket, one JSON text per event."""

import asyncio
from typing import Annotated, Final

from fastapi import APIRouter, Depends, Query
from starlette.websockets import WebSocket, WebSocketDisconnect

from fairlane.api.event_stream.follower import Follower
from fairlane.api.event_stream.stream import EventStream, event_stream_of
from fairlane.api.models import LARGEST
from fairlane.errors import FairlaneError

router = APIRouter()

GOING_AWAY: Final = 1001
TRY_AGAIN_LATER: Final = 1013
_TEXTS_PER_TURN: Final = 100
_LONGEST_REASON: Final = 100  # a close frame has room for 123 bytes


@router.websocket("/ws")
async def socket(
    websocket: WebSocket,
    stream: Annotated[EventStream, Depends(event_stream_of)],
    after: Annotated[int | None, Query(ge=0, le=LARGEST)] = None,
    job: Annotated[str | None, Query(max_length=200)] = None,
    queue: Annotated[str | None, Query(max_length=200)] = None,
) -> None:
    await websocket.accept()
    try:
        async with stream.follow(after, job=job, queue=queue) as follower:
            await _send_events(websocket, follower)
            if not follower.is_disconnected:
                await websocket.close(GOING_AWAY, "the server is stopping; reconnect")
    except FairlaneError as error:
        reason = error.message.encode()[:_LONGEST_REASON].decode(errors="ignore")
        await websocket.close(TRY_AGAIN_LATER, reason)
    except WebSocketDisconnect:
        pass


async def _send_events(websocket: WebSocket, follower: Follower) -> None:
    disconnect = asyncio.create_task(_wait_for_disconnect(websocket))
    disconnect.add_done_callback(lambda _: follower.disconnect())
    try:
        while (delivery := await follower.next_delivery()) is not None:
            for number, text in enumerate(delivery.texts(), start=1):
                await websocket.send_text(text)
                if number % _TEXTS_PER_TURN == 0:
                    await asyncio.sleep(0)  # sending does not yield to the event loop
    finally:
        disconnect.cancel()


async def _wait_for_disconnect(websocket: WebSocket) -> None:
    """Return when the client has disconnected; ignore its messages."""
    while (await websocket.receive())["type"] != "websocket.disconnect":
        pass
