"""`app.schedules`: creating, changing and firing schedules while an engine runs."""

import builtins
import json
from collections.abc import Callable
from typing import Any, Unpack

import msgspec

from fairlane.client.commands import Commands
from fairlane.client.job import Job
from fairlane.core.inputs import SaveRecord
from fairlane.core.live_job import JobId
from fairlane.core.validation import bounded_limit, check_path_name, check_text
from fairlane.errors import UnknownName
from fairlane.ids import new_id
from fairlane.leader.schedule import Rules, Schedule, firing_of, make_schedule
from fairlane.redaction import secret_names
from fairlane.snapshot import ScheduleView, schedule_view
from fairlane.store.views import FiringView
from fairlane.task.secret_cipher import SecretCipher, decrypt_secrets
from fairlane.tasks import Call, require_call


class Schedules:
    """The schedules of the database, declared by programs or saved by operators."""

    def __init__(self, commands: Commands, cipher: SecretCipher | None) -> None:
        self._commands = commands
        self._cipher = cipher

    async def list(self) -> dict[str, ScheduleView]:
        """Return every schedule without secret parameters and with its next time, by name."""
        stored, now = await self._stored(), self._commands.clock.now()
        return {name: schedule_view(stored[name], now) for name in sorted(stored)}

    async def _stored(self) -> dict[str, Schedule]:
        rows = await self._commands.records("schedule")
        schedules = {name: _decode(body) for name, body in rows.items()}
        return {name: schedule for name, schedule in schedules.items() if not schedule.deleted}

    async def _stored_schedule(self, name: str) -> Schedule:
        stored = await self._stored()
        if name not in stored:
            raise UnknownName("schedule", name, stored)
        return stored[name]

    async def save(self, name: str, call: Call[Any], **rules: Unpack[Rules]) -> None:
        """Create a schedule while running, or replace one; see `app.schedule` for the rules."""
        check_path_name("schedule", name)
        schedule = make_schedule(name, require_call(call).submission(), rules)
        before = (await self._commands.records("schedule")).get(name)
        declared = before is not None and _decode(before).declared
        changes = {"since": None, "declared": declared, "changed": True}
        text = msgspec.structs.replace(schedule, **changes).text()
        await self._commands.call(SaveRecord(new_id(), "schedule", name, text))

    async def change(
        self,
        name: str,
        call: Call[Any] | None = None,
        *,
        paused: bool | None = None,
        **rules: Unpack[Rules],
    ) -> None:
        """Change some rules of a schedule, or the call that it submits."""
        submission = None if call is None else require_call(call).submission()

        def change(before: Schedule) -> Schedule:
            has_changes = rules or submission is not None
            after = before.changed_to(rules, submission) if has_changes else before
            if paused is None or paused == after.paused:
                return after
            since = after.since if paused else None  # times missed in a pause stay missed
            return msgspec.structs.replace(after, paused=paused, since=since)

        await self._change(name, change)

    async def pause(self, name: str) -> None:
        """Stop a schedule from firing."""
        await self.change(name, paused=True)

    async def resume(self, name: str) -> None:
        """Let a schedule fire again, from now on; times missed in the pause stay missed."""
        await self.change(name, paused=False)

    async def delete(self, name: str) -> None:
        """Delete a schedule; a declared one stays deleted until it is saved again."""
        await self._change(name, _deleted)

    async def _change(self, name: str, change: Callable[[Schedule], Schedule | None]) -> None:
        known = await self._stored()

        def change_text(text: str | None) -> str | None:
            before = None if text is None else _decode(text)
            if before is None or before.deleted:
                raise UnknownName("schedule", name, known)
            after = change(before)
            return None if after is None else after.text()

        await self._commands.change_record("schedule", name, change_text)

    async def fire(self, name: str) -> Job[Any] | None:
        """Fire a schedule by hand; None if its policy skipped the firing, which is recorded."""
        submission = firing_of(await self._stored_schedule(name), None)
        answers = await self._commands.admit([submission])
        id = answers[0]["id"] if answers else None
        return Job(self._commands, JobId(id)) if id else None

    async def firings(self, schedule: str, *, limit: int = 50) -> builtins.list[FiringView]:
        """Return when a schedule fired and with which result, the newest first."""
        check_text("schedule", schedule)
        limit = bounded_limit(limit)
        return await self._commands.on_loop(self._commands.store.firings(schedule, limit=limit))

    async def scheduled_call(self, name: str) -> tuple[str, dict[str, Any]]:
        """Return the task and the parameters that a schedule submits, secrets included."""
        submission = (await self._stored_schedule(name)).submission
        values, names = json.loads(submission.params), secret_names(submission.options)
        return submission.task, decrypt_secrets(values, names, self._cipher)


def _decode(text: str) -> Schedule:
    return msgspec.json.decode(text, type=Schedule)


def _deleted(schedule: Schedule) -> Schedule | None:
    """Store a declared schedule as deleted: its program would declare it again at every start."""
    return msgspec.structs.replace(schedule, deleted=True) if schedule.declared else None
