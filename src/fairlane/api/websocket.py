"""`WS /api/ws`: the same messages as JSON texts, one each."""

import asyncio
from typing import Annotated, Final

from fastapi import APIRouter, Depends, Query
from starlette.websockets import WebSocket, WebSocketDisconnect

from fairlane.api.event_follower import Follower
from fairlane.api.event_stream import Stream, the_stream
from fairlane.api.models import LARGEST
from fairlane.errors import FairlaneError

router = APIRouter()

GOING_AWAY: Final = 1001
TRY_AGAIN_LATER: Final = 1013
_AT_ONCE: Final = 100
_LONGEST_REASON: Final = 100  # a frame that closes has room for 123 bytes


@router.websocket("/ws")
async def socket(
    websocket: WebSocket,
    stream: Annotated[Stream, Depends(the_stream)],
    after: Annotated[int | None, Query(ge=0, le=LARGEST)] = None,
    job: Annotated[str | None, Query(max_length=200)] = None,
    queue: Annotated[str | None, Query(max_length=200)] = None,
) -> None:
    await websocket.accept()
    try:
        async with stream.following(after, job=job, queue=queue) as follower:
            await _tell(websocket, follower)
            if not follower.has_left:
                await websocket.close(GOING_AWAY, "the stream has ended; come back")
    except FairlaneError as error:
        reason = error.message.encode()[:_LONGEST_REASON].decode(errors="ignore")
        await websocket.close(TRY_AGAIN_LATER, reason)
    except WebSocketDisconnect:
        pass


async def _tell(websocket: WebSocket, follower: Follower) -> None:
    hanging_up = asyncio.create_task(_hung_up(websocket))
    hanging_up.add_done_callback(lambda _: follower.leave())
    try:
        while (portion := await follower.next()) is not None:
            for number, text in enumerate(portion.texts(), start=1):
                await websocket.send_text(text)
                if number % _AT_ONCE == 0:
                    await asyncio.sleep(0)  # to write does not wait, and others want their turn
    finally:
        hanging_up.cancel()


async def _hung_up(websocket: WebSocket) -> None:
    """Return when the client is gone. What it says is not listened to."""
    while (await websocket.receive())["type"] != "websocket.disconnect":
        pass
