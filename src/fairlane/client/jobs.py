"""Single jobs, and lists of them: those in line, the live ones and the history."""

from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import Any

from fairlane.client.commands import Calling
from fairlane.core.inputs import Explain, Submit
from fairlane.core.lifecycle import FINAL, LIVE, State
from fairlane.core.live_job import JobId
from fairlane.core.validation import check_text
from fairlane.errors import BadSetting, IllegalTransition, NotFound, UnknownName
from fairlane.ids import new_id
from fairlane.job import Job
from fairlane.store.views import FRONT, JobView, LogLine, Page, Place, Query
from fairlane.tracing import submitting


class Jobs(Calling):
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

    async def rerun(self, job: str) -> Job[Any]:
        """Run an ended job's original input again, as a new job."""
        view = await self.show(job)
        if view.state not in FINAL:
            raise IllegalTransition.of_command(
                job, view.state, "it can be run again when it has ended"
            )
        submission = await self._on_loop(self._store.submission(JobId(job)))
        if submission is None:
            raise NotFound(f"job {job} does not exist")
        submission.id = new_id()
        with submitting([submission]):
            answer = (await self.call(Submit(new_id(), [submission])))[0]
        return Job(self, JobId(answer["id"]), merged=answer["merged"])  # type: ignore[arg-type]
