"""Schedules: making, changing and firing them while everything runs."""

from collections.abc import Callable
from typing import Any, Unpack

import msgspec

from fairlane.client.jobs import Jobs
from fairlane.core.inputs import SaveRecord, Submit
from fairlane.core.validation import check_path_name, check_text
from fairlane.errors import UnknownName
from fairlane.ids import new_id
from fairlane.job import Job
from fairlane.leader.schedule import Rules, Schedule, fire, ruled
from fairlane.snapshot import ScheduleView, schedule_view, schedule_without_secrets
from fairlane.store.views import FiringView
from fairlane.tasks import Call, as_call
from fairlane.tracing import submitting


class Schedules(Jobs):
    async def schedules(self) -> dict[str, Schedule]:
        known = await self._stored_schedules()
        return {name: schedule_without_secrets(schedule) for name, schedule in known.items()}

    async def _stored_schedules(self) -> dict[str, Schedule]:
        stored = await self._on_loop(self._store.records("schedule"))
        known = {name: msgspec.json.decode(body, type=Schedule) for name, body in stored.items()}
        return {name: schedule for name, schedule in known.items() if not schedule.deleted}

    async def schedule_views(self) -> dict[str, ScheduleView]:
        """Return every schedule as people see it, and when it fires next, by name."""
        known, now = await self._stored_schedules(), self.clock.now()
        return {name: schedule_view(known[name], now) for name in sorted(known)}

    async def save_schedule(self, name: str, call: Call[Any], **rules: Unpack[Rules]) -> None:
        """Make a schedule while running, or put another in its place; see `app.schedule`."""
        check_path_name("schedule", name)
        fresh = ruled(name, as_call(call).submission(), rules)
        before = (await self._on_loop(self._store.records("schedule"))).get(name)
        declared = before is not None and msgspec.json.decode(before, type=Schedule).declared
        changes = {"since": None, "declared": declared, "changed": True}
        text = msgspec.structs.replace(fresh, **changes).text()
        await self.call(SaveRecord(new_id(), "schedule", name, text))

    async def change_schedule(
        self,
        name: str,
        call: Call[Any] | None = None,
        *,
        paused: bool | None = None,
        **rules: Unpack[Rules],
    ) -> None:
        """Change some of a schedule's rules, or what it runs; the rest stays as it is."""
        submission = None if call is None else as_call(call).submission()

        def change(was: Schedule) -> Schedule:
            changes = rules or submission is not None
            after = was.changed_to(rules, submission) if changes else was
            if paused is None or paused == after.paused:
                return after
            since = after.since if paused else None  # what it missed meanwhile stays missed
            return msgspec.structs.replace(after, paused=paused, since=since)

        await self._change_schedule(name, change)

    async def scheduled_call(self, name: str) -> tuple[str, dict[str, Any]]:
        """Return which task a schedule runs and with what, secrets included."""
        submission = (await self._schedule(name)).submission
        return submission.task, msgspec.json.decode(submission.params)

    async def firings(self, schedule: str, *, limit: int = 50) -> list[FiringView]:
        check_text("schedule", schedule)
        return await self._on_loop(self._store.firings(schedule, limit=limit))  # type: ignore[no-any-return]

    async def pause_schedule(self, name: str) -> None:
        await self.change_schedule(name, paused=True)

    async def resume_schedule(self, name: str) -> None:
        """Let a schedule fire again, from now on; what it missed while paused stays missed."""
        await self.change_schedule(name, paused=False)

    async def delete_schedule(self, name: str) -> None:
        """Delete a schedule; one that the code declares stays deleted until it is saved again."""
        await self._change_schedule(name, _deleted)

    async def _change_schedule(
        self, name: str, change: Callable[[Schedule], Schedule | None]
    ) -> None:
        known = await self._stored_schedules()

        def change_text(text: str | None) -> str | None:
            was = None if text is None else msgspec.json.decode(text, type=Schedule)
            if was is None or was.deleted:
                raise UnknownName("schedule", name, known)
            after = change(was)
            return None if after is None else after.text()

        await self._change_record("schedule", name, change_text)

    async def fire(self, name: str) -> Job[Any] | None:
        """Fire a schedule by hand; None if its policy skipped it, which is recorded."""
        submission = fire(await self._schedule(name), None)
        with submitting([submission]):
            answers = await self.call(Submit(new_id(), [submission]))
        return self.job(answers[0]["id"]) if answers and answers[0]["id"] else None

    async def _schedule(self, name: str) -> Schedule:
        known = await self._stored_schedules()
        if name not in known:
            raise UnknownName("schedule", name, known)
        return known[name]


def _deleted(schedule: Schedule) -> Schedule | None:
    """What the code declares is kept as deleted: it would come back with the next start."""
    return msgspec.structs.replace(schedule, deleted=True) if schedule.declared else None
