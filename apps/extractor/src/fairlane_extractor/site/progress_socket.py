"""`WS /api/ws`: the progress of one task (`taskId`) or of all, one JSON text per message.

Messages, each with a `type`:

* `ready`: what changes from now on is sent. With `taskId`, a `task` follows at once.
* `progress`: `taskId`, `stage`, `progress` and `message` of a stage that changed; also the `status`
  of that stage, and the progress of the task as `total`.
* `task`: the whole `task`, after a change of its status, place or priority.
* `resync`: the client was too slow, and messages are lost; it reads the tasks again.
"""

import asyncio
import contextlib
from collections.abc import AsyncGenerator, AsyncIterator
from typing import Any, Final

import msgspec
from starlette.routing import WebSocketRoute
from starlette.websockets import WebSocket

from fairlane import EventView, FairlaneError
from fairlane_extractor.program import QUEUE, Extractor
from fairlane_extractor.site.task_view import ENDED, stage_name
from fairlane_extractor.site.tasks import Tasks

NO_TASK: Final = 4404
GOING_AWAY: Final = 1001
TRY_AGAIN_LATER: Final = 1013
LONGEST_REASON: Final = 100  # a close frame has room for 123 bytes

Message = dict[str, Any]
_CHANGES: Final = ("job_state_changed", "job_moved", "job_stopping", "job_stuck")


async def follow(websocket: WebSocket) -> None:
    extractor: Extractor = websocket.app.state.extractor
    await websocket.accept()
    sending = asyncio.create_task(_send_messages(websocket, extractor))
    receiving = asyncio.create_task(_wait_for_disconnect(websocket))
    try:
        await asyncio.wait((sending, receiving), return_when=asyncio.FIRST_COMPLETED)
    finally:
        for task in (sending, receiving):
            task.cancel()
        await asyncio.gather(sending, receiving, return_exceptions=True)


async def _send_messages(websocket: WebSocket, extractor: Extractor) -> None:
    task_id = websocket.query_params.get("taskId")
    try:
        if task_id is not None and await Tasks(extractor).get_task(task_id) is None:
            await websocket.close(NO_TASK, "there is no such task")
            return
        async with contextlib.aclosing(messages(extractor, task_id)) as following:
            async for message in following:
                await websocket.send_text(msgspec.json.encode(message).decode())
        await websocket.close(GOING_AWAY, "the server is stopping; reconnect")
    except FairlaneError as error:
        reason = error.message.encode()[:LONGEST_REASON].decode(errors="ignore")
        await websocket.close(TRY_AGAIN_LATER, reason)


async def messages(
    extractor: Extractor, task_id: str | None = None, *, after: int | None = None
) -> AsyncGenerator[Message, None]:
    """Yield the messages of one task or of all, from the event `after` on or from now.

    They end when the engine stops.
    """
    tasks, stages = Tasks(extractor), StageChanges()
    events = extractor.app.events
    last = await events.newest() if after is None else after
    yield {"type": "ready"}
    if task_id is not None:
        yield {"type": "task", "task": await tasks.get_task(task_id)}
    is_following = True
    while is_following:
        is_following = False
        async with contextlib.aclosing(
            events.follow(after=last, job=task_id, queue=QUEUE)
        ) as following:
            async for event in following:
                last = event.seq
                is_following = event.type == "resync"  # the last event before the stream ends
                async for message in _messages_of(event, tasks, stages):
                    yield message


async def _messages_of(
    event: EventView, tasks: Tasks, stages: "StageChanges"
) -> AsyncIterator[Message]:
    if event.type == "resync":
        yield {"type": "resync"}
    elif event.job is None:
        return
    elif event.type == "job_progress":
        for message in stages.messages_of(event.job, event.data):
            yield message
    elif event.type in _CHANGES:
        task = await tasks.get_task(event.job)
        if task is not None:
            if task.status in ENDED:
                stages.forget(event.job)
            yield {"type": "task", "task": task}


class StageChanges:
    """The stages of the running tasks as they were sent last.

    An event has all stages of a job and names the last one that changed; others may have changed
    since the event before it, such as one that has just ended.
    """

    def __init__(self) -> None:
        self._sent: dict[str, dict[str, Message]] = {}

    def messages_of(self, task_id: str, data: Message) -> list[Message]:
        """Return a message for each stage that has changed, in their order."""
        sent = self._sent.setdefault(task_id, {})
        total = int((data.get("progress") or {}).get("percent") or 0)
        changed = []
        for stage in data.get("stages") or ():
            message = progress_message(task_id, stage)
            has_begun = message["status"] != "pending" or message["message"]
            if message != sent.get(message["stage"]) and (has_begun or message["stage"] in sent):
                sent[message["stage"]] = message
                changed.append({**message, "total": total})
        return changed

    def forget(self, task_id: str) -> None:
        self._sent.pop(task_id, None)


def progress_message(task_id: str, stage: Message) -> Message:
    is_done = stage.get("status") == "done"
    return {
        "type": "progress",
        "taskId": task_id,
        "stage": stage_name(stage["name"]),
        "progress": 100 if is_done else int(stage.get("percent") or 0),
        "message": stage.get("message") or None,
        "status": stage.get("status", "pending"),
    }


async def _wait_for_disconnect(websocket: WebSocket) -> None:
    """Return when the client has disconnected; ignore its messages."""
    while (await websocket.receive())["type"] != "websocket.disconnect":
        pass


ROUTES: Final = [WebSocketRoute("/api/ws", follow)]
