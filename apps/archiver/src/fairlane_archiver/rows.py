"""The rows of the archive for the command line, one per account."""

import asyncio
from collections.abc import Iterable, Sequence
from typing import Any, Final

from msgspec import Struct

from fairlane import BadParameters, Fairlane, Job, LaneBusy, LaneView, NotFound
from fairlane_archiver.index import Index, Missing, Sums
from fairlane_archiver.program import QUEUE, TASK
from fairlane_archiver.sources import canonical_name, refuse_login
from fairlane_archiver.threads import in_thread

COUNTS: Final = ("downloaded", "skipped", "filtered", "failed", "bytes", "rate", "page", "cursor")
MOST_MISSING: Final = 20  # files that are listed


class Row(Struct, kw_only=True):
    """The counts of the last run, and the totals of the account (`files` and following)."""

    account: str
    state: str
    job: str | None
    filters: dict[str, Any] | None
    counts: dict[str, Any]
    trouble: str | None
    files: int = 0
    total_bytes: int = 0
    missing: int = 0  # files that could not be saved
    missing_files: list[Missing] = []


class Rows:
    def __init__(self, app: Fairlane, index: Index) -> None:
        self._app = app
        self._index = index

    async def save(self, text: str, filters: dict[str, Any], *, keeps: bool) -> str:
        """Save the filters of a row, and return its account; with `keeps`, unnamed filters stay."""
        account = canonical_name(refuse_login(text))
        saved = (await self._app.lanes.show(QUEUE, account)).params if keeps else None
        wanted = {**_filters(saved), **filters}
        call = self._app.tasks[TASK].call(account=account, **wanted)
        await self._app.lanes.save(QUEUE, account, call)
        return account

    async def filters(self, account: str) -> dict[str, Any]:
        """Return the saved filters of a row, without its account."""
        saved = (await self._app.lanes.show(QUEUE, account)).params
        if saved is None:
            raise _unknown(account)
        return _filters(saved)

    async def run(
        self, accounts: Sequence[str], *, continues: bool
    ) -> tuple[list[Job[Any]], dict[str, LaneBusy | BadParameters]]:
        """Start or continue rows in this order; return their jobs, and the errors of the others."""
        for account in accounts:
            await self.filters(account)
        verb = self._app.lanes.continue_ if continues else self._app.lanes.start
        jobs: list[Job[Any]] = []
        refused: dict[str, LaneBusy | BadParameters] = {}
        for account in accounts:
            try:
                jobs.append(await verb(QUEUE, account))
            # Busy, or with filters that this version does not accept: the other rows can be
            # started.
            except (LaneBusy, BadParameters) as error:
                refused[account] = error
        return jobs, refused

    async def remove(self, account: str) -> None:
        """Remove a row; its files and its cursor stay."""
        await self.filters(account)
        await self._app.lanes.save(QUEUE, account, None)

    async def last_job(self, account: str) -> str:
        """Return the job that a row runs or ran last."""
        lane = await self._app.lanes.show(QUEUE, account)
        if lane.params is None and lane.last_job is None and lane.active_job is None:
            raise _unknown(account)
        id = lane.active_job or lane.last_job
        if id is None:
            raise NotFound(
                f"{account} has not run yet; `fairlane-archive start {account}` starts it"
            )
        return id

    async def listed(self, accounts: Iterable[str] = ()) -> list[Row]:
        """Return these rows, or all; a job that was submitted without a row counts as one."""
        known = {
            lane.lane: lane
            for lane in await self._app.lanes.list(QUEUE)
            if lane.params is not None or lane.active_job is not None
        }
        named = list(dict.fromkeys(accounts))
        for account in named:
            if account not in known:
                raise _unknown(account)
        wanted = [known[account] for account in named] or list(known.values())
        return list(await asyncio.gather(*map(self._row, wanted)))

    async def _row(self, lane: LaneView) -> Row:
        id = lane.active_job or lane.last_job
        try:
            job = None if id is None else await self._app.jobs.show(id)
        except NotFound:
            job = None  # its history was pruned
        told = {} if job is None else job.statistics
        error = None if job is None or job.error is None else job.error
        trouble = told.get("trouble") if error is None else error.message
        if error is not None and error.code == "crash_loop":
            trouble = (
                "the program died again and again while it worked on this; "
                f"`fairlane-archive continue {lane.lane}` goes on where it was"
            )
        sums = await in_thread(self._index.sums, lane.lane)
        missing = await in_thread(self._missing, lane.lane, sums)
        return Row(
            account=lane.lane,
            state=lane.state,
            job=id,
            filters=None if lane.params is None else lane.params["params"],
            counts={name: told[name] for name in COUNTS if name in told},
            trouble=trouble,
            files=sums.files,
            total_bytes=sums.bytes,
            missing=sums.missing,
            missing_files=missing,
        )

    def _missing(self, account: str, sums: Sums) -> list[Missing]:
        return self._index.missing(account, limit=MOST_MISSING) if sums.missing else []


def _filters(saved: dict[str, Any] | None) -> dict[str, Any]:
    params = {} if saved is None else saved["params"]
    return {name: value for name, value in params.items() if name != "account"}


def _unknown(account: str) -> NotFound:
    return NotFound(f"{account} is not in the archive; `fairlane-archive add {account}` adds it")
