"""The rows of the archive, for the command line: one for each account."""

import asyncio
from collections.abc import Sequence
from typing import Any, Final

from msgspec import Struct

from fairlane import Fairlane, Job, LaneView, NotFound
from fairlane_archiver.program import QUEUE, TASK
from fairlane_archiver.sources import canonical

COUNTS: Final = ("downloaded", "skipped", "filtered", "failed", "bytes", "rate", "page", "cursor")


class Row(Struct, kw_only=True):
    account: str
    state: str
    job: str | None
    filters: dict[str, Any] | None
    counts: dict[str, Any]
    trouble: str | None


async def save(app: Fairlane, text: str, filters: dict[str, Any]) -> str:
    """Save what a row asks for, and return its account."""
    account = canonical(text)
    await app.save_lane(QUEUE, account, app.tasks[TASK].call(account=account, **filters))
    return account


async def filters_of(app: Fairlane, account: str) -> dict[str, Any]:
    """Return what is saved for a row, without whose row it is."""
    saved = (await app.lane(QUEUE, account)).params
    if saved is None:
        raise NotFound(f"{account} is not in the archive; `fairlane-archive add {account}` adds it")
    return {name: value for name, value in saved["params"].items() if name != "account"}


async def run(app: Fairlane, accounts: Sequence[str], *, continues: bool) -> list[Job[Any]]:
    """Start or continue rows, in this order."""
    jobs = []
    for account in accounts:
        await filters_of(app, account)
        verb = app.continue_lane if continues else app.start_lane
        jobs.append(await verb(QUEUE, account))
    return jobs


async def remove(app: Fairlane, account: str) -> None:
    """Forget a row; its files and where it stopped stay."""
    await filters_of(app, account)
    await app.save_lane(QUEUE, account, None)


async def listed(app: Fairlane, accounts: Sequence[str] = ()) -> list[Row]:
    lanes = await app.lanes(QUEUE)
    wanted = [lane for lane in lanes if lane.lane in accounts or (not accounts and lane.params)]
    return list(await asyncio.gather(*(_row(app, lane) for lane in wanted)))


async def _row(app: Fairlane, lane: LaneView) -> Row:
    id = lane.active_job or lane.last_job
    try:
        job = None if id is None else await app.show(id)
    except NotFound:
        job = None  # its history was pruned
    told = {} if job is None else job.statistics
    error = None if job is None or job.error is None else job.error.message
    return Row(
        account=lane.lane,
        state=lane.state,
        job=id,
        filters=None if lane.params is None else lane.params["params"],
        counts={name: told[name] for name in COUNTS if name in told},
        trouble=error or told.get("trouble"),
    )
