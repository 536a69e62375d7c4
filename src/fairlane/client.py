"""What application code calls while an engine runs: submit, steer, look.

Every call works in every process on the database. Changes go to the leader and come back with its
answer; reads go straight to the store.
"""

import asyncio
import contextlib
from collections.abc import AsyncGenerator, Callable, Iterable, Sequence
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeVar, Unpack

import msgspec

from fairlane.core.forecast import Forecast, forecast
from fairlane.core.inputs import (
    Ask,
    Command,
    EditLane,
    Explain,
    Pause,
    Record,
    Resume,
    Setting,
    Submission,
    Submit,
)
from fairlane.core.job import JobId
from fairlane.core.lifecycle import FINAL, LIVE, State
from fairlane.core.queues import QueueChanges, QueueOptions, settings_from
from fairlane.core.scheduler import Scheduler
from fairlane.core.settings import check_path_name, check_text
from fairlane.descriptions import Description, describe, description_from, task_from
from fairlane.engine.schedules import Rules, Schedule, fire, ruled
from fairlane.errors import (
    BadSetting,
    Conflict,
    IllegalTransition,
    KeyReused,
    NotFound,
    UnknownName,
    UsageError,
)
from fairlane.ids import keyed_id, new_id
from fairlane.jobs import Job
from fairlane.snapshots import (
    LimitView,
    QueueView,
    ScheduleView,
    Snapshot,
    WorkerView,
    lane_without_secrets,
    limit_view,
    queue_view,
    schedule_view,
    schedule_without_secrets,
    snapshot_from,
    worker_view,
)
from fairlane.store.opening import store_at
from fairlane.store.views import (
    FRONT,
    EventView,
    FiringView,
    JobView,
    LaneView,
    LogLine,
    Page,
    Place,
    Query,
)
from fairlane.tasks import Call, Options, Task, as_call, check_size
from fairlane.tracing import submitting
from fairlane.transactions import execute, execute_now

if TYPE_CHECKING:
    from fairlane.engine.clock import Clock
    from fairlane.engine.engine import Engine
    from fairlane.store.protocol import Store

R = TypeVar("R")

_FORECAST_JOBS = 10_000
_MOST_TRIES = 10


class Client:
    if TYPE_CHECKING:
        tasks: dict[str, Task[Any, Any]]
        clock: Clock
        database: str

        @property
        def _engine(self) -> Engine: ...
        @property
        def _store(self) -> Store: ...
        async def _on_loop(self, coroutine: Any) -> Any: ...
        def _reserve(self, job: str, path: Path) -> Path: ...

    async def call(self, command: Command) -> Any:
        """Have the leader carry out a command."""
        _check_names(command)
        return await self._on_loop(self._engine.call(command))

    # submitting

    async def submit(self, call: Call[R]) -> Job[R]:
        """Submit a call; once this returns the job is on disk."""
        return (await self.submit_many([call]))[0]

    async def submit_many(self, calls: Sequence[Call[Any]]) -> list[Job[Any]]:
        """Submit calls in this order, all or none: one conflict refuses all and names it."""
        if not calls:
            return []
        submissions: list[Submission] = []
        admitted: set[str] = set()
        try:
            submissions.extend(call.submission(self._reserve) for call in calls)
            check_size(submissions)
            own_ids = any(call.has_own_id for call in calls)
            with submitting(submissions):
                answers = await self.call(Submit(new_id(), submissions, own_ids))
            admitted.update(answer["id"] for answer in answers)
        finally:
            self._release(job.id for job in submissions if job.id not in admitted)
        return [
            Job(self, JobId(a["id"]), results=call.task.definition.results, merged=a["merged"])  # type: ignore[arg-type]
            for call, a in zip(calls, answers, strict=True)
        ]

    async def submit_once(
        self, key: str, calls: Sequence[Call[Any]], *, request: str
    ) -> list[Job[Any]]:
        """Submit under a key: the same again gives the same jobs, whoever asks, however often.

        `request` stands for what is asked for, such as a digest of it; something else under a key
        that was used is refused. A call that is merged into another job leaves no trace of its key.
        """
        named = [call.known_as(keyed_id(key, n), request) for n, call in enumerate(calls)]
        if named:
            await self._check_request(keyed_id(key, 0), key, request)
        jobs = await self.submit_many(named)
        if named:  # somebody may have used it at the same moment
            await self._check_request(keyed_id(key, 0), key, request)
        return jobs

    async def _check_request(self, job: JobId, key: str, request: str) -> None:
        known = await self._on_loop(self._store.submission(job))
        if known is not None and msgspec.json.decode(known.options).get("request") != request:
            raise KeyReused(key, job)

    async def submit_inside(self, connection: Any, *calls: Call[Any]) -> list[Job[Any]]:
        """Submit as a part of your own transaction on PostgreSQL: with all of it, or not at all.

        `connection` is one of asyncpg or of psycopg 3; with `app.sync` one that is not awaited.
        Nothing can be refused before you commit: a job that does not fit then ends as skipped.
        """
        statement, values, jobs = self._insertion(calls)
        await execute(connection, statement, values)
        return jobs

    def _submit_inside_now(self, connection: Any, *calls: Call[Any]) -> list[Job[Any]]:
        statement, values, jobs = self._insertion(calls)
        execute_now(connection, statement, values)
        return jobs

    def _insertion(self, calls: Sequence[Call[Any]]) -> tuple[str, tuple[Any, ...], list[Job[Any]]]:
        insertion = getattr(store_at(self.database), "insertion", None)
        if insertion is None:
            raise UsageError(
                "submit_inside needs a database on PostgreSQL: it shares a transaction"
            )
        if not calls:
            raise UsageError("submit_inside takes at least one call after the connection")
        submissions = [as_call(call).submission() for call in calls]
        check_size(submissions)
        command = Submit(new_id(), submissions, sent_before=True, binding=True)
        with submitting(submissions):
            body = msgspec.json.encode(command).decode()
        statement, values = insertion(command.key, body, self.clock.now())
        results = [call.task.definition.results for call in calls]
        jobs: list[Job[Any]] = [
            Job(self, JobId(job.id), results=read)  # type: ignore[arg-type]
            for job, read in zip(submissions, results, strict=True)
        ]
        return statement, values, jobs

    def _release(self, jobs: Iterable[str]) -> None:
        """Give back the output names of jobs that were not admitted."""
        for job in jobs:
            self._engine.worker.outputs.release(job)

    async def submit_by_name(self, task: str, params: dict[str, Any], **options: Any) -> Job[Any]:
        """Submit a job of a task by the task's name."""
        known = await self.find_task(task)
        return await self.submit(known.options(**options).call(**params))

    async def find_task(self, name: str) -> Task[Any, Any]:
        """Return a task of this program, or of another by what is stored about it."""
        if name in self.tasks:
            return self.tasks[name]
        known = await self.descriptions()
        if name not in known:
            raise UnknownName("task", name, {*self.tasks, *known})
        return task_from(name, known[name], self)  # type: ignore[arg-type]

    async def descriptions(self) -> dict[str, Description]:
        """Describe every task that a program on this database has declared, by name."""
        stored = await self._on_loop(self._store.records("task"))
        read = {name: description_from(body) for name, body in stored.items()}
        known = {name: describe(task) for name, task in self.tasks.items()}
        return {name: found for name, found in read.items() if found is not None} | known

    def task_named(self, name: str) -> Task[Any, Any]:
        if name not in self.tasks:
            raise UnknownName("task", name, self.tasks)
        return self.tasks[name]

    async def rerun(self, job: str) -> Job[Any]:
        """Run an ended job's original input again, as a new job."""
        view = await self.show(job)
        if view.state not in FINAL:
            raise IllegalTransition.of_verb(
                job, view.state, "it can be run again when it has ended"
            )
        submission = await self._on_loop(self._store.submission(JobId(job)))
        if submission is None:
            raise NotFound(f"job {job} does not exist")
        submission.id = new_id()
        with submitting([submission]):
            answer = (await self.call(Submit(new_id(), [submission])))[0]
        return Job(self, JobId(answer["id"]), merged=answer["merged"])  # type: ignore[arg-type]

    # jobs

    def job(self, id: str) -> Job[Any]:
        """Return a handle on a job by its id, without looking whether it exists."""
        return Job(self, JobId(id))  # type: ignore[arg-type]

    async def show(self, id: str) -> JobView:
        check_text("id of a job", id)
        found = await self._on_loop(self._store.jobs([JobId(id)]))
        if id not in found:
            raise NotFound(f"job {id} does not exist")
        return found[JobId(id)]  # type: ignore[no-any-return]

    async def wait_for(self, id: str) -> JobView:
        """Return the job once it has ended, however it ended."""
        check_text("id of a job", id)
        return await self._on_loop(self._engine.waits.ended(JobId(id)))  # type: ignore[no-any-return]

    async def explain(self, id: str) -> dict[str, Any]:
        """Say why a job waits: its place, and every limit, lane, pause or worker in its way."""
        return await self.call(Explain(new_id(), JobId(id)))  # type: ignore[no-any-return]

    async def log(self, id: str, *, limit: int = 1000) -> list[LogLine]:
        check_text("id of a job", id)
        return await self._on_loop(self._store.log(JobId(id), limit=limit))  # type: ignore[no-any-return]

    async def history(
        self,
        *,
        states: Sequence[str] = (),
        task: str | None = None,
        queue: str | None = None,
        lane: str | None = None,
        since: datetime | None = None,
        until: datetime | None = None,
        limit: int = 50,
        cursor: str | None = None,
    ) -> Page:
        """List ended jobs, the newest end first; `next` of a page is the cursor of the next."""
        if queue is not None:
            await self._check_queue(queue)
        for state in states:
            if state not in FINAL:
                raise UnknownName("final state", state, FINAL)
        for what, name in (("task", task), ("lane", lane), ("cursor", cursor)):
            if name is not None:
                check_text(what, name)
        query = Query(
            states=tuple(states), task=task, queue=queue, lane=lane,
            since=None if since is None else since.timestamp(),
            until=None if until is None else until.timestamp(),
            limit=max(1, min(limit, 1000)), cursor=cursor,
        )  # fmt: skip
        return await self._on_loop(self._store.history(query))  # type: ignore[no-any-return]

    async def list_jobs(
        self,
        *,
        states: Sequence[str] = (),
        task: str | None = None,
        queue: str | None = None,
        lane: str | None = None,
        text: str | None = None,
        since: datetime | None = None,
        until: datetime | None = None,
        limit: int = 50,
        cursor: str | None = None,
    ) -> Page:
        """List live jobs and then ended ones, the newest first; `next` is the next page's cursor.

        `text` is looked for in ids, tasks, lanes, parameters, meta and errors, in 20,000 jobs at a
        time: a page may be empty though there is a next one. `since` and `until` are about the end
        of a job, or about its submission while it is live.
        """
        for state in states:
            if state not in set(State):
                raise UnknownName("state", state, set(State))
        if queue is not None:
            await self._check_queue(queue)
        named = (("task", task), ("lane", lane), ("cursor", cursor), ("text", text))
        for what, name in named:
            if name is not None:
                check_text(what, name)
        query = Query(
            task=task, queue=queue, lane=lane, text=text or None,
            since=None if since is None else since.timestamp(),
            until=None if until is None else until.timestamp(),
            limit=max(1, min(limit, 1000)),
        )  # fmt: skip
        wanted = frozenset(states or State)
        return await self._page(query, wanted & LIVE, wanted & FINAL, cursor)

    async def _page(
        self, query: Query, live: Iterable[str], ended: Iterable[str], cursor: str | None
    ) -> Page:
        """Read one page across both tables; a cursor says in which of them it goes on."""
        part, _, below = (cursor or "live:").partition(":")
        if part not in ("live", "ended"):
            raise BadSetting(
                f'"{cursor}" is not a cursor; pass what `next` of the page before said'
            )
        query.cursor, found = below or None, Page([], None)
        query.states = tuple(live)
        if part == "live" and query.states:
            found = await self._on_loop(self._store.live(query))
            if found.next is not None:
                return Page(found.items, f"live:{found.next}")
        query.states = tuple(ended)
        if not query.states:
            return found
        if part == "live":
            if len(found.items) == query.limit:
                return Page(found.items, "ended:")
            query.cursor, query.limit = None, query.limit - len(found.items)
        past = await self._on_loop(self._store.history(query))
        following = None if past.next is None else f"ended:{past.next}"
        # A job may have ended since the live ones were read; what was read last is true.
        ended_now = {view.id for view in past.items}
        still_live = [view for view in found.items if view.id not in ended_now]
        return Page(still_live + past.items, following)

    async def line(self, queue: str, *, limit: int = 50, cursor: str | None = None) -> Page:
        """List the jobs that stand in a queue's order, the next one first.

        A job that waits for others to end stands in no order yet.
        """
        await self._check_queue(queue)
        after = FRONT if cursor is None else Place.read(cursor)
        if after is None:
            raise BadSetting(
                f'"{cursor}" is not a cursor; pass what `next` of the page before said'
            )
        limit = max(1, min(limit, 1000))
        found = await self._on_loop(self._store.line(queue, after=after, limit=limit + 1))
        page = found[:limit]
        return Page(page, str(Place.of(page[-1])) if len(found) > limit else None)

    # queues and limits

    async def queues(self) -> dict[str, QueueView]:
        """Return every queue with its settings, by name."""
        stored = await self._on_loop(self._store.records("queue"))
        return {name: queue_view(name, stored[name]) for name in sorted(stored)}

    async def counts(self) -> dict[str, dict[str, int]]:
        """Return how many live jobs each queue has, by state."""
        return await self._on_loop(self._store.counts())  # type: ignore[no-any-return]

    async def limits(self) -> list[LimitView]:
        """List the rates and resources there are, by name."""
        views = [
            limit_view(kind, key, body)
            for kind in ("rate", "resource")
            for key, body in (await self._on_loop(self._store.records(kind))).items()
        ]
        return sorted(views, key=lambda view: (view.key, view.kind))

    async def pause(self, queue: str) -> dict[str, Any]:
        """Start nothing new; what runs goes on."""
        return await self.call(Pause(new_id(), queue))  # type: ignore[no-any-return]

    async def stop_after_current(self, queue: str) -> dict[str, Any]:
        """Pause, and let `drain` return when the last running job has ended."""
        return await self.call(Pause(new_id(), queue, after_current=True))  # type: ignore[no-any-return]

    async def resume(self, queue: str) -> dict[str, Any]:
        return await self.call(Resume(new_id(), queue))  # type: ignore[no-any-return]

    async def set_queue(self, queue: str, **settings: Unpack[QueueChanges]) -> dict[str, Any]:
        """Change settings while running; None clears a choice, so that the code's counts again."""
        return await self._set("queue", queue, {**settings})

    async def set_limit(
        self, key: str, *, starts: int | None = None, per_seconds: float | None = None
    ) -> dict[str, Any]:
        return await self._set("rate", key, {"starts": starts, "per_seconds": per_seconds})

    async def set_resource(self, name: str, amount: int | None) -> dict[str, Any]:
        return await self._set("resource", name, {"amount": amount})

    async def _set(self, kind: Any, name: str, values: dict[str, Any]) -> dict[str, Any]:
        return await self.call(Setting(new_id(), kind, name, "operator", values))  # type: ignore[no-any-return]

    async def is_queued(self, dedupe: str) -> bool:
        """Tell whether a job with this dedupe key waits."""
        return bool(await self.call(Ask(new_id(), queued=dedupe)))

    async def is_running(self, queue: str, lane: str) -> bool:
        """Tell whether a job of this lane runs."""
        return bool(await self.call(Ask(new_id(), lane=(queue, lane))))

    async def drain(self, queue: str | None = None) -> None:
        """Return when nothing runs and nothing will: all done, or paused and the last one ended."""
        if queue is not None:
            await self._check_queue(queue)
        loop = asyncio.get_running_loop()
        began = loop.time()
        while not await self._is_drained(queue):  # other processes end jobs too
            # To count a long queue takes its time; it must not take all of it.
            await asyncio.sleep(max(0.05, 5 * (loop.time() - began)))
            began = loop.time()

    async def _check_queue(self, queue: str) -> None:
        known = await self._on_loop(self._store.records("queue"))
        if queue not in known:
            raise UnknownName("queue", queue, known)

    async def _is_drained(self, queue: str | None) -> bool:
        records = await self._on_loop(self._store.records("queue"))
        for name, counts in (await self._on_loop(self._store.counts())).items():
            if queue in (None, name):
                paused = msgspec.json.decode(records[name])["paused"] if name in records else None
                busy = {"running", "interrupted"} if paused else set(counts) - {"scheduled"}
                if any(counts.get(state) for state in busy):
                    return False
        return True

    async def forecast(self, queue: str | None = None, **what_if: Unpack[QueueOptions]) -> Forecast:
        """Say when each waiting job will start; with a queue's settings, what they would change."""
        if what_if and queue is None:
            raise BadSetting(f"say which queue would have {', '.join(what_if)}: forecast(queue, …)")
        if queue is not None:
            check_text("queue", queue)
        image, durations = await asyncio.gather(
            self._on_loop(self._store.image(queue=queue, limit=_FORECAST_JOBS)),
            self._on_loop(self._store.durations()),
        )
        now = self.clock.now()
        if queue is not None:
            known = [name for kind, name in image.records if kind == "queue"]
            if queue not in known:
                raise UnknownName("queue", queue, known)
            settings_from(queue, what_if)

        def run() -> Forecast:
            scheduler = Scheduler()
            scheduler.load(
                jobs=image.jobs, dependencies=image.dependencies, records=image.records,
                takes=image.takes, grants=image.grants, seq=image.seq, now=now,
            )  # fmt: skip
            return forecast(scheduler, now=now, durations=durations, queue=queue, what_if=what_if)

        return await asyncio.to_thread(run)

    # looking on

    async def leader(self) -> str | None:
        """Say which process leads now, for people; None if none does."""
        return await self._on_loop(self._store.leader())  # type: ignore[no-any-return]

    async def snapshot(self, *, waiting: int = 200, ended: int = 50, lanes: int = 200) -> Snapshot:
        """Return the present, true at its `seq`; follow with `events(after=snapshot.seq)`.

        Of each queue it shows the first jobs that wait, of all the last that ended, and so many
        lanes: those in which something happens first.
        """
        look = self._store.picture(waiting=waiting, ended=ended, lanes=lanes)
        picture = await self._on_loop(look)
        return snapshot_from(picture, self.clock.now())

    async def workers(self) -> list[WorkerView]:
        """List the places where jobs run now."""
        stored = await self._on_loop(self._store.records("worker"))
        return sorted(map(worker_view, stored.values()), key=lambda worker: worker.name)

    async def events(
        self, *, after: int | None = None, job: str | None = None, queue: str | None = None
    ) -> AsyncGenerator[EventView, None]:
        """Give events as they are committed; a `resync` at the end means: take a snapshot again."""
        wanted = None if job is None else JobId(job)
        following = self._followed(self._engine.feed.follow(after, job=wanted, queue=queue))
        async with contextlib.aclosing(following) as events:
            async for event in events:
                yield event

    async def event_batches(
        self, *, after: int, limit: int = 500
    ) -> AsyncGenerator[list[EventView], None]:
        """Give all events above `after`, as many at a time as there are, for who passes them on."""
        following = self._followed(self._engine.feed.batches(after, limit=limit))
        async with contextlib.aclosing(following) as batches:
            async for batch in batches:
                yield batch

    async def _followed(self, following: AsyncGenerator[R, None]) -> AsyncGenerator[R, None]:
        """Go through what lives on the engine's loop."""

        async def next_one() -> R | None:
            return await anext(following, None)

        async def close() -> None:
            await following.aclose()

        try:
            while (one := await self._on_loop(next_one())) is not None:
                yield one
        finally:
            await self._on_loop(close())

    async def stored_events(self, *, after: int, limit: int = 500) -> list[EventView] | None:
        """Return stored events above `after` in order; None if that is too old or never was."""
        return await self._on_loop(self._store.events(after, limit))  # type: ignore[no-any-return]

    async def newest_event(self) -> int:
        """Return the `seq` of the newest event."""
        return await self._on_loop(self._store.seq())  # type: ignore[no-any-return]

    # lanes

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

    # schedules

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
        await self.call(Record(new_id(), "schedule", name, text))

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
        """Read, change and keep, again if somebody else was faster."""
        for _ in range(_MOST_TRIES):
            await self._schedule(name)  # or nobody knows it
            text = (await self._on_loop(self._store.records("schedule"))).get(name, "")
            after = change(msgspec.json.decode(text, type=Schedule)) if text else None
            body = None if after is None else after.text()
            with contextlib.suppress(Conflict):
                await self.call(Record(new_id(), "schedule", name, body, text))
                return
        raise Conflict(f'schedule "{name}" is changed by others all the time; try again')

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


def _check_names(command: Command) -> None:
    """Refuse what no store could look for; the names of a submission were checked one by one."""
    if not isinstance(command, Submit):
        for field in set(command.__struct_fields__) - {"body", "instead_of", "params"}:
            given = getattr(command, field)
            for name in given if isinstance(given, tuple) else (given,):
                if isinstance(name, str):
                    check_text(field, name)


def _deleted(schedule: Schedule) -> Schedule | None:
    """What the code declares is kept as deleted: it would come back with the next start."""
    return msgspec.structs.replace(schedule, deleted=True) if schedule.declared else None
