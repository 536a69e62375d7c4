"""Lanes: what is saved for one, and running it."""

from typing import Any, Literal

import msgspec

from fairlane.client.jobs import Jobs
from fairlane.client.submissions import Submitting
from fairlane.core.inputs import EditLane
from fairlane.core.validation import check_text
from fairlane.errors import Conflict, NotFound
from fairlane.ids import new_id
from fairlane.job import Job
from fairlane.snapshot import lane_without_secrets
from fairlane.store.views import LaneView
from fairlane.tasks import Call, Options


class Lanes(Submitting, Jobs):
    async def lanes(self, queue: str | None = None) -> list[LaneView]:
        return [lane_without_secrets(view) for view in await self._lanes(queue)]

    async def _lanes(self, queue: str | None) -> list[LaneView]:
        if queue is not None:
            check_text("queue", queue)
        return await self._on_loop(self._store.lanes(queue))  # type: ignore[no-any-return]

    async def lane(self, queue: str, lane: str) -> LaneView:
        """Show one lane; one that nothing was ever done in is idle."""
        await self._check_queue(queue)
        check_text("lane", lane)
        for view in await self.lanes(queue):
            if view.lane == lane:
                return view
        return LaneView(
            queue=queue, lane=lane, state="idle", active_job=None, last_job=None, params=None,
            checkpoint=None,
        )  # fmt: skip

    async def cancel_lane(
        self, queue: str, lane: str, *, outputs: Literal["keep", "delete"] = "keep",
        force: bool = False,
    ) -> Job[Any]:  # fmt: skip
        """Cancel a lane's active job and return it."""
        active = (await self.lane(queue, lane)).active_job
        if active is None:
            raise Conflict(f'lane "{lane}" of queue "{queue}" has no active job to cancel')
        job = self.job(active)
        await job.cancel(outputs=outputs, force=force)
        return job

    async def save_lane(self, queue: str, lane: str, call: Call[Any] | None) -> None:
        """Save what a lane runs; refused while it has an active job. None forgets it."""
        body = None
        if call is not None:
            params = msgspec.json.decode(call.params)
            saved = {"task": call.task.name, "params": params}
            if secrets := call.task.definition.parameters.secrets:
                saved["secrets"] = secrets
            body = msgspec.json.encode(saved).decode()
        await self.call(EditLane(new_id(), queue, lane, body))

    async def start_lane(self, queue: str, lane: str) -> Job[Any]:
        """Run a lane's saved parameters afresh."""
        return await self._run_lane(queue, lane, "start")

    async def continue_lane(self, queue: str, lane: str) -> Job[Any]:
        """Run a lane's saved parameters from where its last job stopped."""
        return await self._run_lane(queue, lane, "continue")

    async def _run_lane(self, queue: str, lane: str, kind: Any) -> Job[Any]:
        saved = next((v.params for v in await self._lanes(queue) if v.lane == lane), None)
        if saved is None:
            raise NotFound(f'lane "{lane}" of queue "{queue}" has no saved parameters')
        task = await self.find_task(saved["task"])
        options = Options(kind=kind, queue=queue, lane=lane)
        values = task.definition.parameters.validate((), saved["params"])
        return await self.submit(Call(task, values, options))
