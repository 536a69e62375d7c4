"""The archiver as a Fairlane app: one lane per account, three of them at a time."""

import logging
import shutil
from collections.abc import Mapping, Sequence
from datetime import date
from functools import cache
from pathlib import Path
from typing import Annotated, Any, Final

import msgspec
from pydantic import AfterValidator, Field, ValidationInfo

from fairlane import (
    Conflict,
    Context,
    Fairlane,
    JobView,
    NotFound,
    Permanent,
    Retry,
    UsageError,
)
from fairlane_archiver.account_run import AccountRun
from fairlane_archiver.archive import QUEUE_FILE, Archive
from fairlane_archiver.filters import Filters
from fairlane_archiver.network import guarded_client
from fairlane_archiver.posts import Kind
from fairlane_archiver.run_counts import RunCounts
from fairlane_archiver.settings import Settings
from fairlane_archiver.sources import recognise_account, refuse_login
from fairlane_archiver.threads import in_thread
from fairlane_archiver.web_client import WebClient

QUEUE: Final = "archive"
TASK: Final = "archive"
CONTINUE: Final = "continue"
SCHEDULES: Final = "schedules"  # the queue of scheduled continues
KINDS: Final[tuple[Kind, ...]] = ("image", "video", "audio", "other")


def _account(text: str) -> str:
    try:
        account, source = recognise_account(refuse_login(text))
        source.check()
    except Permanent as error:
        raise ValueError(str(error)) from None
    return account


def _not_before_since(until: date | None, told: ValidationInfo) -> date | None:
    since = told.data.get("since")
    if until is not None and since is not None and until < since:
        raise ValueError(f"nothing is from {since} or later and from {until} or earlier")
    return until


def build(
    folder: str | Path | None = None,
    *,
    database: str | None = None,
    settings: Settings | None = None,
    max_concurrent: int = 3,
    **options: Any,
) -> Fairlane:
    """Create an archiver with its files, index and queue in one folder.

    Without `settings` the environment is used. Other options are passed to Fairlane.
    """
    logging.getLogger("httpx").setLevel(logging.WARNING)  # httpx logs every request
    known = settings or Settings.from_environment(None if folder is None else Path(folder))
    archive = Archive(known)
    address = database or f"sqlite:///{known.folder / QUEUE_FILE}"
    # A running job resumes after a restart, so a stop does not wait for it.
    app = Fairlane(address, **{"stop_grace_seconds": 0.0, **options})
    app.queue(QUEUE, max_concurrent=max_concurrent, on_conflict="reject")
    app.queue(SCHEDULES)

    def room(_: Mapping[str, Any]) -> str | None:
        free = shutil.disk_usage(known.folder).free
        if free >= known.spare_bytes:
            return None
        return f"{free} bytes are free in {known.folder}, and {known.spare_bytes} are to stay free"

    @app.task(
        name=TASK,
        queue=QUEUE,
        lane="{account}",
        preconditions=[room],
        retry=Retry(times=3, first_seconds=5, factor=3),
        grace_seconds=2,
        # Saved files survive a crash, so each recovery has less left to do.
        recover=10,
    )
    async def archive_account(
        ctx: Context,
        account: Annotated[str, AfterValidator(_account), Field(min_length=1, max_length=500)],
        kinds: Annotated[
            Sequence[Kind], Field(min_length=1, max_length=100, description="What to save")
        ] = KINDS,
        since: Annotated[date | None, Field(description="Nothing older than this day")] = None,
        until: Annotated[
            date | None,
            AfterValidator(_not_before_since),
            Field(description="Nothing newer than this day"),
        ] = None,
        min_bytes: Annotated[int, Field(ge=0, lt=1 << 63, description="Nothing smaller")] = 0,
        replies: bool = True,
        boosts: bool = False,
        most: Annotated[int | None, Field(ge=1, description="New files in one run")] = None,
    ) -> dict[str, Any]:
        """Save the media of an account: from the newest, or from where it stopped."""
        if ctx.job.lane != account:
            raise Permanent(
                f"this row is {ctx.job.lane}, but its parameters say {account}; save them under "
                f"{account}, so that no two jobs work on one account",
                code="wrong_account",
            )
        filters = Filters(
            kinds=frozenset(kinds), since=since, until=until, min_bytes=min_bytes,
            replies=replies, boosts=boosts, most=most,
        )  # fmt: skip
        return await _archived(ctx, app, archive, account, filters)

    @app.task(name=CONTINUE, queue=SCHEDULES)
    async def continue_rows(
        ctx: Context,
        account: Annotated[str | None, Field(description="Whose row; all without it")] = None,
    ) -> dict[str, int]:
        """Continue a row with its filters of that time, for schedules."""
        saved = [lane.lane for lane in await app.lanes.list(QUEUE) if lane.params is not None]
        wanted = saved if account is None else [name for name in saved if name == account]
        if account is not None and not wanted:
            raise Permanent(f"{account} is not in the archive any more", code="unknown_account")
        continued = 0
        for name in wanted:
            try:
                await app.lanes.continue_(QUEUE, name)
                continued += 1
            # It is running, or its filters are no longer valid.
            except (Conflict, UsageError) as error:
                ctx.log(f"{name}: {error}", "warning")
        return {"continued": continued, "left": len(wanted) - continued}

    def settle(job: JobView) -> None:
        if job.queue == QUEUE:
            archive.settle(job)

    app.on_end(settle)
    return app


async def _archived(
    ctx: Context, app: Fairlane, archive: Archive, account: str, filters: Filters
) -> dict[str, Any]:
    _, source = recognise_account(account)
    account_folder = archive.account_folder(account)
    run = ctx.job.id
    await in_thread(account_folder.open)
    for earlier in await in_thread(archive.index.open_runs, account):
        if earlier != run:  # an earlier run must be settled before a new one saves files
            await _settled(app, archive, earlier)
    record = {"run": run, "account": account, "kind": ctx.job.kind, "source": source.name}
    record["filters"] = msgspec.to_builtins(filters, enc_hook=sorted)
    async with ctx.output(archive.record(run), on_exists="overwrite", kind="run") as part:
        await in_thread(part.write_bytes, msgspec.json.format(msgspec.json.encode(record)))
    await in_thread(archive.index.open_run, run, account)
    downloaded, size = await in_thread(archive.index.totals, run)
    failed = await in_thread(archive.index.failed_in, run)
    counts = RunCounts(ctx, downloaded=downloaded, bytes=size, failed=failed)
    settings = archive.settings
    client = guarded_client(
        archive.allowed, stall_seconds=settings.stall_seconds, at_once=settings.at_once
    )

    def on_wait(host: str, seconds: float) -> None:
        ctx.log(f"waiting {seconds:.0f} s, as {host} asks")

    web = WebClient(client, archive.pace, settings, on_wait=on_wait)
    try:
        async with client:
            await AccountRun(
                ctx, source=source, filters=filters, settings=settings, index=archive.index,
                account_folder=account_folder, web=web, counts=counts,
            ).go()  # fmt: skip
    except BaseException:
        # A cancelled job leaves no part files; after a restart of the program they are resumed.
        if ctx.stopping and (await app.jobs.show(run)).stopping:
            await in_thread(account_folder.drop_parts)
        raise
    return counts.as_dict()


async def _settled(app: Fairlane, archive: Archive, run: str) -> None:
    try:
        await in_thread(archive.settle, await app.jobs.show(run))
    except NotFound:
        await in_thread(archive.index.close_run, run)  # its job was pruned from the history


@cache
def _served() -> Fairlane:
    archiver = build()
    Archive(Settings.from_environment()).begin()
    return archiver


def __getattr__(name: str) -> Any:
    """Create `app` on first access, so that an import alone creates no folder."""
    if name == "app":
        return _served()
    raise AttributeError(name)
