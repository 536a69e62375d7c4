"""`app.lanes`: saved parameters of lanes, and running them."""

import builtins
import json
from typing import Any, Literal

import msgspec

from fairlane.client.commands import Commands
from fairlane.client.job import Job
from fairlane.client.submissions import Submissions
from fairlane.core.inputs import EditLane, QueryState
from fairlane.core.live_job import JobId
from fairlane.core.validation import check_text
from fairlane.errors import Conflict, NotFound
from fairlane.ids import new_id
from fairlane.snapshot import lane_without_secrets
from fairlane.store.views import LaneView
from fairlane.task.secret_cipher import decrypt_secrets
from fairlane.tasks import Call, Options, require_call


class Lanes:
    """The lanes of the database: those with a job, a past or saved parameters."""

    def __init__(self, commands: Commands, submissions: Submissions) -> None:
        self._commands = commands
        self._submissions = submissions

    async def list(self, queue: str | None = None) -> builtins.list[LaneView]:
        """Return the lanes of one queue or of all, without secret parameters."""
        return [lane_without_secrets(view) for view in await self._stored(queue)]

    async def _stored(self, queue: str | None) -> builtins.list[LaneView]:
        if queue is not None:
            check_text("queue", queue)
        return await self._commands.on_loop(self._commands.store.lanes(queue))

    async def show(self, queue: str, lane: str) -> LaneView:
        """Return one lane; a lane that was never used is idle."""
        await self._commands.check_queue(queue)
        check_text("lane", lane)
        for view in await self.list(queue):
            if view.lane == lane:
                return view
        return LaneView(
            queue=queue, lane=lane, state="idle", active_job=None, last_job=None, params=None,
            checkpoint=None,
        )  # fmt: skip

    async def is_running(self, queue: str, lane: str) -> bool:
        """Return whether a job of this lane runs."""
        return await self._commands.query(QueryState(new_id(), lane=(queue, lane)))

    async def save(self, queue: str, lane: str, call: Call[Any] | None) -> None:
        """Save the call that a lane runs; refused while it has an active job. None deletes it."""
        body = None
        if call is not None:
            call = require_call(call)
            params = json.loads(call.stored_params)
            saved = {"task": call.task.name, "params": params}
            if secrets := call.task.definition.parameters.secrets:
                saved["secrets"] = secrets
            body = msgspec.json.encode(saved).decode()
        await self._commands.call(EditLane(new_id(), queue, lane, body))

    async def start(self, queue: str, lane: str) -> Job[Any]:
        """Submit a lane's saved parameters, without the checkpoint of its last job."""
        return await self._submit_saved(queue, lane, "start")

    async def continue_(self, queue: str, lane: str) -> Job[Any]:
        """Submit a lane's saved parameters, with the checkpoint of its last job."""
        return await self._submit_saved(queue, lane, "continue")

    async def _submit_saved(
        self, queue: str, lane: str, kind: Literal["start", "continue"]
    ) -> Job[Any]:
        saved = next((v.params for v in await self._stored(queue) if v.lane == lane), None)
        if saved is None:
            raise NotFound(f'lane "{lane}" of queue "{queue}" has no saved parameters')
        task = await self._submissions.find_task(saved["task"])
        options = Options(kind=kind, queue=queue, lane=lane)
        cipher = self._submissions.cipher
        params = decrypt_secrets(saved["params"], saved.get("secrets", ()), cipher)
        values = task.definition.parameters.validate((), params)
        return await self._submissions.submit(Call(task, values, options))

    async def cancel(
        self, queue: str, lane: str, *, outputs: Literal["keep", "delete"] = "keep",
        force: bool = False,
    ) -> Job[Any]:  # fmt: skip
        """Cancel a lane's active job and return its handle."""
        active = (await self.show(queue, lane)).active_job
        if active is None:
            raise Conflict(f'lane "{lane}" of queue "{queue}" has no active job to cancel')
        job: Job[Any] = Job(self._commands, JobId(active))
        await job.cancel(outputs=outputs, force=force)
        return job
