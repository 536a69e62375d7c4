"""`GET /api/state`: a snapshot of the whole queue, after which a client follows the events.

Reading a snapshot takes longer the more jobs there are, and after a `resync` many clients request
it at once. So all requests that arrive before a reading begins share it. Each client gets a
snapshot that is at least as new as its request, and any number of simultaneous requests costs at
most two readings.
"""

import asyncio
from typing import Annotated, Final

import msgspec
from fastapi import APIRouter, Depends
from starlette.requests import HTTPConnection
from starlette.responses import Response

from fairlane.api import models
from fairlane.api.problems import problem_docs
from fairlane.api.queues import queue_json
from fairlane.app import Fairlane
from fairlane.snapshot import Snapshot

router = APIRouter(tags=["state"])

WAITING_JOBS: Final = 200  # of each queue
ENDED_JOBS: Final = 50
LANES: Final = 200

_encode: Final = msgspec.json.Encoder(enc_hook=str).encode


class SharedSnapshot:
    """The snapshot as JSON, shared by simultaneous requests; reading takes at most half the time.

    After each reading it rests for as long as the reading took.
    """

    def __init__(self, app: Fairlane) -> None:
        self._app = app
        self._turn = asyncio.Lock()
        self._next: asyncio.Task[bytes] | None = None  # the reading that has not begun yet
        self._rest_until = 0.0

    async def read(self) -> bytes:
        if self._next is None:
            self._next = asyncio.create_task(self._read())
        return await asyncio.shield(self._next)  # a disconnect must not cancel it for others

    async def _read(self) -> bytes:
        loop = asyncio.get_running_loop()
        async with self._turn:
            await asyncio.sleep(self._rest_until - loop.time())
            self._next = None
            began = loop.time()
            try:
                uploads = self._app._uploads
                snapshot = await self._app.snapshot(
                    waiting=WAITING_JOBS, ended=ENDED_JOBS, lanes=LANES
                )
                return _encode_snapshot(snapshot, None if uploads is None else uploads.largest)
            finally:
                self._rest_until = 2 * loop.time() - began


def _encode_snapshot(snapshot: Snapshot, largest_upload: int | None) -> bytes:
    queues = {
        name: queue_json(queue, snapshot.counts.get(name, {}))
        for name, queue in snapshot.queues.items()
    }
    facts = {**msgspec.structs.asdict(snapshot), "queues": queues}
    return _encode({**facts, "largest_upload": largest_upload})


def shared_snapshot_of(connection: HTTPConnection) -> SharedSnapshot:
    """Return the shared snapshot of the app that serves this request, as a dependency."""
    state = connection.app.state
    if not hasattr(state, "shared_snapshot"):
        state.shared_snapshot = SharedSnapshot(state.fairlane)
    shared: SharedSnapshot = state.shared_snapshot
    return shared


@router.get(
    "/state", operation_id="state", response_model=models.Snapshot, responses=problem_docs()
)
async def state(shared: Annotated[SharedSnapshot, Depends(shared_snapshot_of)]) -> Response:
    """Return a consistent snapshot at event number `seq`; follow the events above that number.

    `waiting` has the next jobs of each queue, `ended` the last ended jobs, `lanes` the lanes with
    an active job first; `counts` counts all live jobs.
    """
    return Response(await shared.read(), media_type="application/json")
