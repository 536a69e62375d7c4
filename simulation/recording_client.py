"""The commands of a user: sent through the real client and recorded in the journal.

A missing answer is recorded too: the command may or may not have been executed.
"""

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any

from fairlane import Priority
from fairlane.errors import FairlaneError, StoreError
from fairlane.ids import new_id
from fairlane.tasks import Call
from simulation.clock import WallClock
from simulation.host import Host
from simulation.journal import Command, Journal, Submission
from simulation.program import SCHEDULE, Kind, Plan
from simulation.rules.explanations import check_explanation
from simulation.setting_history import Change, SettingHistory

UNKNOWN = (StoreError, TimeoutError)  # no answer was received


class RecordingClient:
    def __init__(self, host: Host, journal: Journal, wall: WallClock) -> None:
        self._host = host
        self._journal = journal
        self._wall = wall

    @property
    def _app(self) -> Any:
        return self._host.app

    # submitting

    def plan(
        self,
        kind: Kind,
        plan: Plan,
        *,
        lane: str | None = None,
        key: str | None = None,
        priority: Priority = Priority.NORMAL,
        run_at: float | None = None,
        depends_on: Sequence[str] = (),
    ) -> Submission:
        """Record a job that is about to be submitted."""
        journal = self._journal
        submission = Submission(
            id=new_id(), kind=kind, plan=plan, lane=lane, key=key, priority=priority,
            run_at=run_at, depends_on=tuple(depends_on), number=journal.next_number(),
            sent_at=journal.now(), process=self._host.process.name,
        )  # fmt: skip
        journal.submissions[submission.id] = submission
        return submission

    def _call(self, submission: Submission) -> Call[Any]:
        run_at = (
            None if submission.run_at is None else datetime.fromtimestamp(submission.run_at, UTC)
        )
        configured = self._app.tasks[submission.kind.name].options(
            id=submission.id,
            priority=Priority(submission.priority),
            run_at=run_at,
            depends_on=submission.depends_on,
        )
        call: Call[Any] = configured.call(
            lane=submission.lane or "-", key=submission.key or "-", seconds=submission.plan.seconds,
            ends=submission.plan.ends,
        )  # fmt: skip
        return call

    async def submit(self, batch: Sequence[Submission]) -> bool:
        """Submit all jobs or none; return whether an answer was received.

        Submitting again is harmless.
        """
        journal = self._journal
        for submission in batch:
            submission.batch = tuple(other.id for other in batch)
        try:
            jobs = await self._app.submit_many([self._call(submission) for submission in batch])
        except UNKNOWN as error:
            journal.write_line(f"{batch[0].id}: nobody knows ({type(error).__name__})")
            return False
        except FairlaneError as error:
            for submission in batch:
                submission.acknowledged_at, submission.refused = journal.now(), error.code
                submission.holder = getattr(error, "active_job", None)
                journal.write_line(
                    f"{submission.id} refused: {error.code} {submission.holder or ''}"
                )
            return True
        for submission, job in zip(batch, jobs, strict=True):
            submission.acknowledged_at = journal.now()
            journal.write_line(
                f"{submission.id} accepted: {submission.kind.name}, lane {submission.lane}, "
                f"priority {submission.priority}"
            )
            if job.merged:
                submission.merged, submission.holder = True, job.id
        return True

    # commands for jobs

    async def _send_command(self, verb: str, subject: str, call: Any, **values: Any) -> Command:
        journal = self._journal
        command = Command(verb, subject, journal.now(), journal.next_number(), problem="unknown")
        command.values = values
        journal.commands.append(command)
        try:
            answer = await call
        except UNKNOWN:
            pass
        except FairlaneError as error:
            command.problem, command.acknowledged_at = error.code, journal.now()
        else:
            command.problem, command.acknowledged_at, command.answer = None, journal.now(), answer
            if (state := command.ended_as) is not None:
                journal.ends.setdefault(subject, (state, journal.now()))
        journal.write_line(f"{verb} {subject} {values or ''}: {command.problem or 'done'}")
        return command

    async def cancel(self, submission: Submission) -> Command:
        submission.removed = submission.removed or self._journal.now()
        return await self._send_command(
            "cancel", submission.id, self._app.jobs.handle(submission.id).cancel()
        )

    async def skip(self, submission: Submission) -> Command:
        submission.removed = submission.removed or self._journal.now()
        return await self._send_command(
            "skip", submission.id, self._app.jobs.handle(submission.id).skip()
        )

    async def move(self, submission: Submission, **place: Any) -> Command:
        submission.touched = self._journal.now()
        return await self._send_command(
            "move", submission.id, self._app.jobs.handle(submission.id).move(**place), **place
        )

    async def prioritize(self, submission: Submission, priority: Priority) -> Command:
        submission.touched = self._journal.now()
        return await self._send_command(
            "priority",
            submission.id,
            self._app.jobs.handle(submission.id).set_priority(priority),
            to=priority.name,
        )

    async def retry(self, submission: Submission) -> Command:
        submission.retried = True
        return await self._send_command(
            "retry", submission.id, self._app.jobs.handle(submission.id).retry()
        )

    async def rerun(self, submission: Submission) -> Command:
        command = await self._send_command(
            "rerun", submission.id, self._app.jobs.rerun(submission.id)
        )
        if command.problem is None and not command.answer.merged:
            id = command.answer.id
            self._journal.submissions[id] = Submission(
                id=id, kind=submission.kind, plan=submission.plan, lane=submission.lane,
                key=submission.key, priority=Priority.NORMAL, run_at=None, depends_on=(),
                number=command.number, sent_at=command.sent_at,
                process=self._host.process.name, batch=(id,),
                acknowledged_at=command.acknowledged_at,
            )  # fmt: skip
        return command

    # commands for queues, limits and schedules

    async def _change_setting(
        self, verb: str, subject: str, line: SettingHistory[Any], value: Any, call: Any
    ) -> Command:
        change: Change = line.record_sent(value, self._journal.now())
        command = await self._send_command(verb, subject, call, to=value)
        change.acknowledged_at = command.acknowledged_at
        change.refused = command.problem not in (None, "unknown")
        return command

    async def pause(self, queue: str, *, after_current: bool = False) -> Command:
        line = self._journal.paused[queue]
        if after_current:
            call = self._app.queues.stop_after_current(queue)
            return await self._change_setting(
                "stop after current", queue, line, "after_current", call
            )
        return await self._change_setting(
            "pause", queue, line, "paused", self._app.queues.pause(queue)
        )

    async def resume(self, queue: str) -> Command:
        line = self._journal.paused[queue]
        return await self._change_setting(
            "resume", queue, line, None, self._app.queues.resume(queue)
        )

    async def set_max_concurrent(self, queue: str, most: int) -> Command:
        call = self._app.queues.set(queue, max_concurrent=most)
        return await self._change_setting(
            "max_concurrent", queue, self._journal.max_concurrent[queue], most, call
        )

    async def set_rate(self, key: str, starts: int) -> Command:
        call = self._app.limits.set(key, starts=starts)
        return await self._change_setting("rate", key, self._journal.rates[key], starts, call)

    async def set_amount(self, name: str, amount: int) -> Command:
        call = self._app.limits.set_resource(name, amount)
        return await self._change_setting(
            "resource", name, self._journal.amounts[name], amount, call
        )

    async def pause_schedule(self) -> Command:
        line, call = self._journal.schedule_paused, self._app.schedules.pause(SCHEDULE)
        return await self._change_setting("pause schedule", SCHEDULE, line, True, call)

    async def resume_schedule(self) -> Command:
        line, call = self._journal.schedule_paused, self._app.schedules.resume(SCHEDULE)
        return await self._change_setting("resume schedule", SCHEDULE, line, False, call)

    async def fire(self) -> Command:
        return await self._send_command("fire", SCHEDULE, self._app.schedules.fire(SCHEDULE))

    def jump(self, seconds: float) -> None:
        """Set the wall clock of the world."""
        self._journal.jumped(seconds)
        self._wall.jump(seconds)

    # queries

    async def explain(self, submission: Submission) -> None:
        """Query why a job waits; the explanation is checked if the journal did not change
        meanwhile."""
        journal = self._journal
        if not self._host.is_leading:
            return
        before = (journal.next_number() + 1, journal.now(), len(journal.faults))
        try:
            said = await self._app.jobs.explain(submission.id)
        except (FairlaneError, TimeoutError):
            return
        if (journal.next_number(), journal.now(), len(journal.faults)) == before:
            check_explanation(journal, submission.id, said, asked=self._host.process.name)

    async def wait(self, submission: Submission) -> bool:
        """Wait for a job to end; return whether its end was received."""
        try:
            view = await self._app.jobs.wait(submission.id)
        except (FairlaneError, TimeoutError):
            return False
        self._journal.checked("waiting")
        self._journal.ends.setdefault(submission.id, (str(view.state), self._journal.now()))
        return True
