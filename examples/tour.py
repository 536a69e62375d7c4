"""A tour of Fairlane in the terminal: a small media archive, live.

It fetches from six accounts (a lane each, three at a time), renders previews on one "gpu", checks a
flaky service, and pauses and changes its queue. It takes about half a minute. The database is
`tour.db`: kill the tour with `kill -9` and run it again, and it continues.
"""

import argparse
import asyncio
import contextlib
import logging
import random
import sys
from collections.abc import AsyncIterator, Callable
from datetime import UTC, datetime
from pathlib import Path

from rich.console import Console, Group
from rich.live import Live
from rich.panel import Panel
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from fairlane import (
    Context,
    Fairlane,
    FairlaneError,
    Give,
    JobView,
    Priority,
    Retry,
    Retryable,
    Snapshot,
)

DATABASE = Path("tour.db")
ACCOUNTS = ["esa", "nasa", "noaa", "nrk", "rijks", "tate"]
PAGES = range(1, 9)
CRASHES = 5  # kills of this program after which a job that ran each time fails

logging.getLogger("fairlane").addHandler(logging.NullHandler())  # the picture shows failures

app = Fairlane(f"sqlite:///{DATABASE}")
app.queue("archive", max_concurrent=3)
app.queue("previews", max_concurrent=4, order="round_robin")
app.queue("checks")
app.limit("service", starts=2, per_seconds=3)
app.resource("gpu", 1)


@app.task(queue="archive", lane="{account}", stages=["listing", "saving"], recover=CRASHES)
async def fetch(ctx: Context, account: str, page: int) -> dict[str, int]:
    """Fetch one page of an account: never two at a time for the same account."""
    count = await ctx.stage("listing").run(list_page, account, page)
    async with ctx.stage("saving") as stage:
        for number in range(1, count + 1):
            await asyncio.sleep(random.uniform(0.1, 0.45))
            stage.progress(100 * number / count, f"file {number} of {count}")
            ctx.report(saved=number)
    ctx.checkpoint["page"] = page
    return {"saved": count}


async def list_page(account: str, page: int) -> int:
    await asyncio.sleep(0.3)
    return 4 + (len(account) * 7 + page * 3) % 6


@app.task(queue="previews", lane="{account}", recover=CRASHES)
async def preview(ctx: Context, account: str) -> str:
    """Render a preview; the rendering stage needs the only gpu."""
    return str(
        await ctx.stage("rendering").run(
            render, account, uses={"gpu": 1}, fallback=Give("no preview")
        )
    )


async def render(account: str) -> str:
    await asyncio.sleep(random.uniform(0.4, 1.0))
    if random.random() < 0.15:
        raise ValueError("corrupt picture")
    return f"{account}.webp"


@app.task(queue="checks", limits=["service"], retry=Retry(times=3), recover=CRASHES)
async def check(ctx: Context, account: str) -> None:
    """Query a service that allows two requests in three seconds and sometimes fails."""
    await asyncio.sleep(0.2)
    if ctx.attempt == 1 and random.random() < 0.5:
        raise Retryable("the service answered 503")
    if account == "nrk":
        raise ValueError("the account is gone")


async def submit_all() -> None:
    await app.submit_many(
        [fetch.call(account=account, page=page) for page in PAGES for account in ACCOUNTS]
        + [preview.call(account=account) for account in ACCOUNTS * 2]
        + [check.call(account=account) for account in ACCOUNTS]
    )


async def clear_settings() -> None:
    """Reset to the declared settings: an operator's settings outlive the program."""
    await app.queues.resume("archive")
    await app.queues.set("archive", max_concurrent=None)


class Story:
    """The steps of the tour, with a sentence for each."""

    def __init__(self, print_line: Callable[[str], None]) -> None:
        self._print_line = print_line
        self.line = ""

    def show(self, line: str) -> None:
        self.line = line
        self._print_line(line)

    async def play(self) -> None:
        await asyncio.sleep(6)
        self.show("The archive is paused: running jobs continue, no new job starts.")
        await app.queues.pause("archive")
        await asyncio.sleep(5)
        self.show("The archive is resumed: waiting jobs start again.")
        await app.queues.resume("archive")
        await asyncio.sleep(4)
        self.show("The archive may run 5 at a time instead of 3: waiting jobs start at once.")
        await app.queues.set("archive", max_concurrent=5)
        await asyncio.sleep(5)
        self.show("A page of loc has high priority: it passes all waiting jobs.")
        await fetch.options(priority=Priority.HIGH).submit(account="loc", page=9)
        await asyncio.sleep(5)
        self.show("The limit is reset to the declared one: 3 at a time.")
        await app.queues.set("archive", max_concurrent=None)


def bar(job: JobView) -> ProgressBar | str:
    percent = job.progress.percent
    return "" if percent is None else ProgressBar(total=100, completed=percent, width=12)


def doing(job: JobView) -> str:
    running = [stage for stage in job.stages if stage.status == "running"]
    if not running:
        return job.progress.message
    return f"{running[-1].name} {running[-1].message}".strip()


STYLES = {"completed": "green", "failed": "red", "skipped": "yellow", "cancelled": "yellow"}


async def reasons(snapshot: Snapshot, most: int) -> list[tuple[JobView, str]]:
    """Explain the first few jobs of each queue, by `app.jobs.explain`."""
    found = []
    for jobs in snapshot.waiting.values():
        for job in jobs[:most]:
            with contextlib.suppress(FairlaneError):
                why = await app.jobs.explain(job.id)
                if why["state"] not in ("running", "completed"):
                    found.append((job, why["reasons"][0]["message"]))
    return found


def table(*columns: str) -> Table:
    """Return a table with fixed columns and a last column for the remaining width."""
    made = Table(box=None, expand=True, pad_edge=False)
    for column, width in zip(columns[:-1], (8, 6, 12), strict=True):
        made.add_column(column, no_wrap=True, min_width=width, max_width=width)
    made.add_column(columns[-1], no_wrap=True, overflow="ellipsis", ratio=1)
    return made


def counted(snapshot: Snapshot) -> Text:
    queues = "   ".join(
        f"{name} {by.get('running', 0)} / {sum(by.values()) - by.get('running', 0)}"
        for name, by in snapshot.counts.items()
    )
    line = f"running / waiting:   {queues}" if queues else "all done"
    return Text(line, style="bold", no_wrap=True, overflow="ellipsis")


def picture(
    snapshot: Snapshot, waiting: list[tuple[JobView, str]], story: Story, rows: int
) -> Group:
    """Draw the snapshot in a number of rows; ended jobs use the remaining rows."""
    running = table("running", "lane", "progress", "doing")
    for job in snapshot.running[: rows - len(waiting) - 2]:
        running.add_row(job.task, job.lane or "", bar(job), doing(job))
    queue = table("waiting", "lane", "state", "why")
    for job, why in waiting:
        queue.add_row(job.task, job.lane or "", job.state, Text(why, style="dim"))
    ended = table("ended", "lane", "state", "result")
    for job in snapshot.ended[: rows - running.row_count - queue.row_count]:
        result = job.error.message if job.error else str(job.result)
        ended.add_row(job.task, job.lane or "", Text(job.state, STYLES[job.state]), result)
    line = Text(story.line, no_wrap=True, overflow="ellipsis")
    return Group(
        Panel(line, title="Fairlane", subtitle=f"event {snapshot.seq}"),
        counted(snapshot),
        *(part for part in (running, queue, ended) if part.row_count),
    )


async def snapshots(rows: int) -> AsyncIterator[Snapshot]:
    while True:
        snapshot = await app.snapshot(waiting=3, ended=rows)
        yield snapshot
        if not snapshot.counts:
            return
        await asyncio.sleep(0.2)


async def show_live(console: Console, story: Story) -> None:
    rows = max(8, console.height - 9)  # minus the panel, the counts and three headings
    most = 2 if rows < 20 else 3
    with Live(console=console, refresh_per_second=8, transient=False) as live:
        async for snapshot in snapshots(rows):
            live.update(picture(snapshot, await reasons(snapshot, most), story, rows))


async def show_lines(console: Console, after: int) -> None:
    """Without a terminal: print one line per event, and one for all that are accepted at once."""
    jobs: dict[str, JobView] = {}
    console.print("event  task     lane   state")
    accepted = 0
    async for event in app.events.follow(after=after):
        if event.type == "job_state_changed" and event.job:
            state = event.data["state"]
            if event.job not in jobs:
                jobs[event.job] = await app.jobs.show(event.job)
                if state == "queued":
                    accepted += 1
                    continue
            if accepted:
                console.print(f"{event.seq - 1:>5}  {accepted} new job{'s'[: accepted - 1]} queued")
                accepted = 0
            job = jobs[event.job]
            console.print(f"{event.seq:>5}  {job.task:<8} {job.lane or '':<6} {state}")
        present = await app.snapshot(waiting=0, ended=0)
        if not present.counts and event.seq >= present.seq:
            return


async def run(console: Console, *, plain: bool) -> None:
    story = Story(lambda line: console.print(f"-- {line}") if plain else None)
    await clear_settings()
    present = await app.snapshot(waiting=0, ended=0)
    if present.counts:
        story.show("tour.db had unfinished jobs from an earlier run: they continue.")
    else:
        story.show("48 pages, 12 previews and 6 checks are stored, all in one commit.")
        await submit_all()
    playing = asyncio.create_task(story.play())
    try:
        await (show_lines(console, present.seq) if plain else show_live(console, story))
    finally:
        playing.cancel()
        await asyncio.wait([playing])
        await clear_settings()


async def main(*, plain: bool) -> None:
    console = Console()
    began_at = datetime.now(UTC)
    async with app:
        await run(console, plain=plain or not console.is_terminal)
        ended = (await app.jobs.history(since=began_at, limit=1000)).items
    failed = [job for job in ended if job.state == "failed"]
    completed = sum(job.state == "completed" for job in ended)
    console.print(f"\nDone: {completed} completed, {len(failed)} failed in this run.")
    for job in failed:
        why = job.error.message if job.error else "unknown"
        console.print(f"  {job.task} {job.params['account']}: {why}")
    console.print(f"The data is in {DATABASE}. The next step is docs/quickstart.md.")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--plain", action="store_true", help="print lines instead of a live picture"
    )
    try:
        asyncio.run(main(plain=parser.parse_args().plain))
    except KeyboardInterrupt:
        print("\nStopped. Running jobs returned to the queue; run the tour again to continue.")
        sys.exit(130)
