"""`app.jobs`: single jobs, lists of them, and the special ways to submit."""

import builtins
from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import Any

from fairlane.client.commands import Commands
from fairlane.client.job import Job, read_log, read_view, wait_for_end
from fairlane.client.submissions import Submissions
from fairlane.core.inputs import QueryState
from fairlane.core.lifecycle import FINAL, LIVE, State
from fairlane.core.live_job import JobId
from fairlane.core.validation import bounded_limit, check_text
from fairlane.errors import BadSetting, UnknownName
from fairlane.ids import new_id
from fairlane.store.views import JobView, LogLine, Page, Query
from fairlane.tasks import Call


class Jobs:
    """The jobs of the database, live and ended."""

    def __init__(self, commands: Commands, submissions: Submissions) -> None:
        self._commands = commands
        self._submissions = submissions

    def handle(self, id: str) -> Job[Any]:
        """Return a handle on a job by its id, without checking that the job exists."""
        return Job(self._commands, JobId(id))

    async def show(self, id: str) -> JobView:
        """Return the stored state of a job."""
        return await read_view(self._commands, id)

    async def wait(self, id: str) -> JobView:
        """Return a job once it has ended, also if it failed or was cancelled."""
        return await wait_for_end(self._commands, id)

    async def explain(self, id: str) -> dict[str, Any]:
        """Return why a job waits: its place, and every limit, lane, pause or worker in its way."""
        return await self.handle(id).explain()

    async def log(self, id: str, *, limit: int = 1000) -> builtins.list[LogLine]:
        """Return the newest lines that a job logged, the oldest of them first."""
        return await read_log(self._commands, id, limit)

    async def rerun(self, id: str) -> Job[Any]:
        """Submit the input of an ended job again, as a new job."""
        return await self.handle(id).rerun()

    async def is_queued(self, dedupe: str) -> bool:
        """Return whether a job with this dedupe key waits."""
        return await self._commands.query(QueryState(new_id(), queued=dedupe))

    async def submit_once(
        self, key: str, calls: Sequence[Call[Any]], *, request: str
    ) -> builtins.list[Job[Any]]:
        """Submit under an idempotency key: the same key and request return the same jobs.

        `request` stands for the content of the request, such as a digest of it; another request
        under a used key is refused. A call that is merged into another job does not store its key.
        """
        return await self._submissions.submit_once(key, calls, request=request)

    async def submit_by_name(self, task: str, params: dict[str, Any], **options: Any) -> Job[Any]:
        """Submit a job of a task by the task's name."""
        found = await self._submissions.find_task(task)
        return await self._submissions.submit(found.options(**options).call(**params))

    async def submit_inside(self, connection: Any, *calls: Call[Any]) -> builtins.list[Job[Any]]:
        """Submit as a part of the caller's own transaction on PostgreSQL.

        `connection` is one of asyncpg or of psycopg 3; with `app.sync` one that is not awaited.
        The leader cannot refuse before the caller commits: a job that does not fit then ends as
        skipped.
        """
        return await self._submissions.submit_inside(connection, calls)

    def _submit_inside_now(self, connection: Any, *calls: Call[Any]) -> builtins.list[Job[Any]]:
        return self._submissions.submit_inside_now(connection, calls)

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
            await self._commands.check_queue(queue)
        for state in states:
            if state not in FINAL:
                raise UnknownName("final state", state, FINAL)
        _check_texts(task=task, lane=lane, cursor=cursor)
        query = Query(
            states=tuple(states), task=task, queue=queue, lane=lane,
            since=None if since is None else since.timestamp(),
            until=None if until is None else until.timestamp(),
            limit=bounded_limit(limit), cursor=cursor,
        )  # fmt: skip
        return await self._commands.on_loop(self._commands.store.history(query))

    async def list(
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

        `text` is searched in ids, tasks, lanes, parameters, meta and errors, in 20,000 jobs at a
        time: a page may be empty though there is a next one. `since` and `until` compare with the
        end of a job, or with its submission while it is live.
        """
        for state in states:
            if state not in set(State):
                raise UnknownName("state", state, set(State))
        if queue is not None:
            await self._commands.check_queue(queue)
        _check_texts(task=task, lane=lane, cursor=cursor, text=text)
        query = Query(
            task=task, queue=queue, lane=lane, text=text or None,
            since=None if since is None else since.timestamp(),
            until=None if until is None else until.timestamp(),
            limit=bounded_limit(limit),
        )  # fmt: skip
        selected = frozenset(states or State)
        return await self._page(query, selected & LIVE, selected & FINAL, cursor)

    async def running(self, *, queue: str | None = None) -> builtins.list[JobView]:
        """Return every running job, or those of one queue, with worker and device.

        The job that started first comes first.
        """
        found: builtins.list[JobView] = []
        cursor: str | None = None
        while True:
            page = await self.list(states=["running"], queue=queue, limit=1000, cursor=cursor)
            found += page.items
            cursor = page.next
            if cursor is None:
                return sorted(found, key=lambda job: (job.started_at or job.created_at, job.id))

    async def _page(
        self, query: Query, live: Iterable[str], ended: Iterable[str], cursor: str | None
    ) -> Page:
        """Read one page across both tables; the cursor names the table in which it continues."""
        part, _, below = (cursor or "live:").partition(":")
        if part not in ("live", "ended"):
            raise BadSetting(f'"{cursor}" is not a cursor; pass `next` of the page before')
        commands = self._commands
        query.cursor, page = below or None, Page([], None)
        query.states = tuple(live)
        if part == "live" and query.states:
            page = await commands.on_loop(commands.store.live_jobs(query))
            if page.next is not None:
                return Page(page.items, f"live:{page.next}")
        query.states = tuple(ended)
        if not query.states:
            return page
        if part == "live":
            if len(page.items) == query.limit:
                return Page(page.items, "ended:")
            query.cursor, query.limit = None, query.limit - len(page.items)
        past = await commands.on_loop(commands.store.history(query))
        following = None if past.next is None else f"ended:{past.next}"
        # A job may have ended after the live ones were read; the later read is true.
        ended_now = {view.id for view in past.items}
        still_live = [view for view in page.items if view.id not in ended_now]
        return Page(still_live + past.items, following)


def _check_texts(**texts: str | None) -> None:
    for name, text in texts.items():
        if text is not None:
            check_text(name, text)
