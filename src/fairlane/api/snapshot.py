"""`GET /api/state`: the present, from which a client follows the events.

To read it takes longer the more there is, and after a `resync` many come for it at once. So all who
have asked by the time a reading begins share it: each gets a state that is at least as new as its
question, and however many ask, no more than two readings are made for them.
"""

import asyncio
from typing import Annotated, Final

import msgspec
from fastapi import APIRouter, Depends
from pydantic import BaseModel, Field
from starlette.requests import HTTPConnection
from starlette.responses import Response

from fairlane.api import models
from fairlane.api.problems import documented
from fairlane.api.queues import shown
from fairlane.app import Fairlane
from fairlane.snapshot import Snapshot

router = APIRouter(tags=["state"])

WAITING: Final = 200  # of each queue
ENDED: Final = 50
LANES: Final = 200

_encode: Final = msgspec.json.Encoder(enc_hook=str).encode


class Present(BaseModel):
    seq: int = Field(description="The number of the newest event in it")
    counts: dict[str, dict[str, int]] = Field(description="Live jobs by queue and state")
    queues: dict[str, models.Queue]
    running: list[models.Job]
    waiting: dict[str, list[models.Job]] = Field(description="By queue, the next one first")
    ended: list[models.Job] = Field(description="The newest end first")
    lanes: list[models.Lane] = Field(description="First those in which something happens")
    workers: list[models.Worker]
    schedules: list[models.Schedule]
    largest_upload: int | None = Field(
        description="How many bytes a file may have that is sent here; null: none is taken"
    )


class SharedSnapshot:
    """The state as JSON, read as often as it is asked for but at most half of the time."""

    def __init__(self, app: Fairlane) -> None:
        self._app = app
        self._turn = asyncio.Lock()
        self._next: asyncio.Task[bytes] | None = None  # has not begun to read
        self._rest_until = 0.0

    async def taken(self) -> bytes:
        if self._next is None:
            self._next = asyncio.create_task(self._take())
        return await asyncio.shield(self._next)  # who hangs up leaves it to the others

    async def _take(self) -> bytes:
        loop = asyncio.get_running_loop()
        async with self._turn:
            await asyncio.sleep(self._rest_until - loop.time())
            self._next = None
            began = loop.time()
            try:
                uploads = self._app._uploads
                snapshot = await self._app.snapshot(waiting=WAITING, ended=ENDED, lanes=LANES)
                return _written(snapshot, None if uploads is None else uploads.largest)
            finally:
                self._rest_until = 2 * loop.time() - began


def _written(snapshot: Snapshot, largest_upload: int | None) -> bytes:
    queues = {
        name: shown(queue, snapshot.counts.get(name, {})) for name, queue in snapshot.queues.items()
    }
    facts = {**msgspec.structs.asdict(snapshot), "queues": queues}
    return _encode({**facts, "largest_upload": largest_upload})


def the_portrait(connection: HTTPConnection) -> SharedSnapshot:
    """Return the portrait of the app that a request is about, as a dependency of routes."""
    state = connection.app.state
    if not hasattr(state, "portrait"):
        state.portrait = SharedSnapshot(state.fairlane)
    portrait: SharedSnapshot = state.portrait
    return portrait


@router.get("/state", operation_id="state", response_model=Present, responses=documented())
async def state(portrait: Annotated[SharedSnapshot, Depends(the_portrait)]) -> Response:
    """Return everything that matters now, true at its `seq`; events above that tell the rest.

    `waiting` has the first jobs of each queue, `ended` the last ones, `lanes` those in which
    something happens; `counts` counts all of them.
    """
    return Response(await portrait.taken(), media_type="application/json")
