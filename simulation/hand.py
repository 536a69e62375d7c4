"""Everything a user can do, done through the real client and written down as it was heard.

An answer that never came is one too: nobody knows whether it was done.
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
from simulation.journal import Journal, Sent, Told
from simulation.program import SCHEDULE, Kind, Plan
from simulation.rules.explaining import check_explanation
from simulation.timeline import Change, Timeline

UNKNOWN = (StoreError, TimeoutError)  # the answer was lost, or there is none


class Hand:
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
    ) -> Sent:
        """Write down a job that is about to be sent."""
        journal = self._journal
        sent = Sent(
            id=new_id(), kind=kind, plan=plan, lane=lane, key=key, priority=priority,
            run_at=run_at, depends_on=tuple(depends_on), number=journal.next_number(),
            sent_at=journal.now(), process=self._host.process.name,
        )  # fmt: skip
        journal.sent[sent.id] = sent
        return sent

    def _call(self, sent: Sent) -> Call[Any]:
        run_at = None if sent.run_at is None else datetime.fromtimestamp(sent.run_at, UTC)
        configured = self._app.tasks[sent.kind.name].options(
            id=sent.id, priority=Priority(sent.priority), run_at=run_at, depends_on=sent.depends_on
        )
        call: Call[Any] = configured.call(
            lane=sent.lane or "-", key=sent.key or "-", seconds=sent.plan.seconds,
            ends=sent.plan.ends,
        )  # fmt: skip
        return call

    async def submit(self, batch: Sequence[Sent]) -> bool:
        """Submit all or none; return whether an answer came. Sending twice is harmless."""
        journal = self._journal
        for sent in batch:
            sent.batch = tuple(other.id for other in batch)
        try:
            jobs = await self._app.submit_many([self._call(sent) for sent in batch])
        except UNKNOWN as error:
            journal.say(f"{batch[0].id}: nobody knows ({type(error).__name__})")
            return False
        except FairlaneError as error:
            for sent in batch:
                sent.heard_at, sent.refused = journal.now(), error.code
                sent.holder = getattr(error, "active_job", None)
                journal.say(f"{sent.id} refused: {error.code} {sent.holder or ''}")
            return True
        for sent, job in zip(batch, jobs, strict=True):
            sent.heard_at = journal.now()
            journal.say(
                f"{sent.id} accepted: {sent.kind.name}, lane {sent.lane}, priority {sent.priority}"
            )
            if job.merged:
                sent.merged, sent.holder = True, job.id
        return True

    # steering jobs

    async def _tell(self, verb: str, subject: str, call: Any, **values: Any) -> Told:
        journal = self._journal
        told = Told(verb, subject, journal.now(), journal.next_number(), problem="unknown")
        told.values = values
        journal.told.append(told)
        try:
            answer = await call
        except UNKNOWN:
            pass
        except FairlaneError as error:
            told.problem, told.heard_at = error.code, journal.now()
        else:
            told.problem, told.heard_at, told.answer = None, journal.now(), answer
            if (state := told.ended_as) is not None:
                journal.ends.setdefault(subject, (state, journal.now()))
        journal.say(f"{verb} {subject} {values or ''}: {told.problem or 'done'}")
        return told

    async def cancel(self, sent: Sent) -> Told:
        sent.removed = sent.removed or self._journal.now()
        return await self._tell("cancel", sent.id, self._app.job(sent.id).cancel())

    async def skip(self, sent: Sent) -> Told:
        sent.removed = sent.removed or self._journal.now()
        return await self._tell("skip", sent.id, self._app.job(sent.id).skip())

    async def move(self, sent: Sent, **place: Any) -> Told:
        sent.touched = self._journal.now()
        return await self._tell("move", sent.id, self._app.job(sent.id).move(**place), **place)

    async def prioritize(self, sent: Sent, priority: Priority) -> Told:
        sent.touched = self._journal.now()
        return await self._tell(
            "priority", sent.id, self._app.job(sent.id).set_priority(priority), to=priority.name
        )

    async def retry(self, sent: Sent) -> Told:
        sent.retried = True
        return await self._tell("retry", sent.id, self._app.job(sent.id).retry())

    async def rerun(self, sent: Sent) -> Told:
        told = await self._tell("rerun", sent.id, self._app.rerun(sent.id))
        if told.problem is None and not told.answer.merged:
            id = told.answer.id
            self._journal.sent[id] = Sent(
                id=id, kind=sent.kind, plan=sent.plan, lane=sent.lane, key=sent.key,
                priority=Priority.NORMAL, run_at=None, depends_on=(), number=told.number,
                sent_at=told.sent_at, process=self._host.process.name, batch=(id,),
                heard_at=told.heard_at,
            )  # fmt: skip
        return told

    # steering queues, limits and schedules

    async def _set(
        self, verb: str, subject: str, line: Timeline[Any], value: Any, call: Any
    ) -> Told:
        change: Change = line.sending(value, self._journal.now())
        told = await self._tell(verb, subject, call, to=value)
        change.heard_at = told.heard_at
        change.refused = told.problem not in (None, "unknown")
        return told

    async def pause(self, queue: str, *, after_current: bool = False) -> Told:
        line = self._journal.paused[queue]
        if after_current:
            call = self._app.stop_after_current(queue)
            return await self._set("stop after current", queue, line, "after_current", call)
        return await self._set("pause", queue, line, "paused", self._app.pause(queue))

    async def resume(self, queue: str) -> Told:
        line = self._journal.paused[queue]
        return await self._set("resume", queue, line, None, self._app.resume(queue))

    async def set_most(self, queue: str, most: int) -> Told:
        call = self._app.set_queue(queue, max_concurrent=most)
        return await self._set("max_concurrent", queue, self._journal.most[queue], most, call)

    async def set_rate(self, key: str, starts: int) -> Told:
        call = self._app.set_limit(key, starts=starts)
        return await self._set("rate", key, self._journal.rates[key], starts, call)

    async def set_amount(self, name: str, amount: int) -> Told:
        call = self._app.set_resource(name, amount)
        return await self._set("resource", name, self._journal.amounts[name], amount, call)

    async def pause_schedule(self) -> Told:
        line, call = self._journal.schedule_paused, self._app.pause_schedule(SCHEDULE)
        return await self._set("pause schedule", SCHEDULE, line, True, call)

    async def resume_schedule(self) -> Told:
        line, call = self._journal.schedule_paused, self._app.resume_schedule(SCHEDULE)
        return await self._set("resume schedule", SCHEDULE, line, False, call)

    async def fire(self) -> Told:
        return await self._tell("fire", SCHEDULE, self._app.fire(SCHEDULE))

    def jump(self, seconds: float) -> None:
        """Set the clock of the whole world."""
        self._journal.jumped(seconds)
        self._wall.jump(seconds)

    # asking

    async def explain(self, sent: Sent) -> None:
        """Ask why a job waits; the answer is judged if nothing happened in between."""
        journal = self._journal
        if not self._host.is_leading:
            return
        before = (journal.next_number() + 1, journal.now(), len(journal.troubles))
        try:
            said = await self._app.explain(sent.id)
        except (FairlaneError, TimeoutError):
            return
        if (journal.next_number(), journal.now(), len(journal.troubles)) == before:
            check_explanation(journal, sent.id, said, asked=self._host.process.name)

    async def wait(self, sent: Sent) -> bool:
        """Wait for a job to end; return whether that was heard."""
        try:
            view = await self._app.wait_for(sent.id)
        except (FairlaneError, TimeoutError):
            return False
        self._journal.checked("waiting")
        self._journal.ends.setdefault(sent.id, (str(view.state), self._journal.now()))
        return True
