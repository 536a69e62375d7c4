"""A tour of Fairlane in the terminal: a small media archive at work, live.

It fetches from six accounts (a lane each, three at a time), makes previews on a scarce "gpu",
checks a flaky service, and changes its own limits on the way. Everything is kept in `tour.db`: kill
it with `kill -9` in the middle and run it again, and it goes on where it was.
"""

import argparse
import asyncio
import contextlib
import random
import sys
from collections.abc import AsyncIterator
from pathlib import Path

from rich.console import Console, Group
from rich.live import Live
from rich.panel import Panel
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from fairlane import Context, Fairlane, Give, JobView, Priority, Retry, Retryable, Snapshot

DATABASE = Path("tour.db")
ACCOUNTS = ["esa", "nasa", "noaa", "nrk", "rijks", "tate"]

app = Fairlane(f"sqlite:///{DATABASE}")
app.queue("archive", max_concurrent=3)
app.queue("previews", max_concurrent=4, order="round_robin")
app.queue("checks")
app.limit("service", starts=2, per_seconds=3)
app.resource("gpu", 1)


@app.task(queue="archive", lane="{account}", stages=["listing", "saving"])
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


@app.task(queue="previews", lane="{account}", retry=Retry(times=2, first_seconds=1))
async def preview(ctx: Context, account: str) -> str:
    """Render a preview; the rendering itself needs the one gpu there is."""
    return str(
        await ctx.stage("rendering").run(render, account, uses={"gpu": 1}, fallback=Give(""))
    )


async def render(account: str) -> str:
    await asyncio.sleep(random.uniform(0.4, 1.0))
    if random.random() < 0.15:
        raise ValueError("corrupt picture")
    return f"{account}.webp"


@app.task(queue="checks", limits=["service"], retry=Retry(times=3, first_seconds=1, factor=2))
async def check(ctx: Context, account: str) -> None:
    """Ask a service that is allowed two questions in three seconds and fails now and then."""
    await asyncio.sleep(0.2)
    if ctx.attempt == 1 and random.random() < 0.5:
        raise Retryable("the service answered 503")
    if account == "nrk":
        raise ValueError("the account is gone")


async def submit_everything() -> None:
    await app.submit_many(
        [fetch.call(account=account, page=page) for page in (1, 2, 3, 4) for account in ACCOUNTS]
        + [preview.call(account=account) for account in ACCOUNTS * 2]
        + [check.call(account=account) for account in ACCOUNTS]
    )


class Story:
    """What the tour does by itself, and tells."""

    def __init__(self) -> None:
        self.line = "24 pages, 12 previews and 6 checks were accepted, all in one commit."

    async def tell(self) -> None:
        await asyncio.sleep(5)
        self.line = "max_concurrent of archive goes from 3 to 5: free slots fill at once."
        await app.set_queue("archive", max_concurrent=5)
        await asyncio.sleep(4)
        self.line = "A job of high priority is submitted: it goes before everything that waits."
        await fetch.options(priority=Priority.HIGH).submit(account="esa", page=9)
        await asyncio.sleep(4)
        self.line = "The archive is paused: what runs goes on, nothing new starts."
        await app.pause("archive")
        await asyncio.sleep(4)
        await app.resume("archive")
        await app.set_queue("archive", max_concurrent=None)
        self.line = "Resumed, and the limit is back to what the code says: 3."


def bar(job: JobView) -> ProgressBar | str:
    percent = job.progress.percent
    return "" if percent is None else ProgressBar(total=100, completed=percent, width=16)


def doing(job: JobView) -> str:
    running = [stage for stage in job.stages if stage.status == "running"]
    if not running:
        return job.progress.message
    return f"{running[-1].name} {running[-1].message}".strip()


STYLES = {"completed": "green", "failed": "red", "skipped": "yellow", "cancelled": "yellow"}


async def reasons(snapshot: Snapshot, most: int) -> list[tuple[JobView, str]]:
    """Ask why, for the first few of each queue: the same answer that `app.explain` gives anyone."""
    found = []
    for jobs in snapshot.waiting.values():
        for job in jobs[:most]:
            with contextlib.suppress(Exception):
                why = await app.explain(job.id)
                if why["state"] not in ("running", "completed"):
                    found.append((job, why["reasons"][0]["message"]))
    return found


def table(*columns: str) -> Table:
    made = Table(box=None, expand=True, pad_edge=False)
    for column, width in zip(columns, (9, 7, 16, None), strict=True):
        made.add_column(column, no_wrap=True, width=width)
    return made


def picture(snapshot: Snapshot, waiting: list[tuple[JobView, str]], story: Story) -> Group:
    running = table("running", "lane", "progress", "doing")
    for job in snapshot.running[:9]:
        running.add_row(job.task, job.lane or "", bar(job), doing(job))
    queue = table("waiting", "lane", "state", "why")
    for job, why in waiting:
        queue.add_row(job.task, job.lane or "", job.state, Text(why, style="dim"))
    ended = table("ended", "lane", "state", "result")
    for job in snapshot.ended[:7]:
        said = job.error.message if job.error else str(job.result)
        ended.add_row(job.task, job.lane or "", Text(job.state, STYLES[job.state]), said)
    counts = "   ".join(
        f"{name}: {by.get('running', 0)} running, {sum(by.values()) - by.get('running', 0)} waiting"
        for name, by in snapshot.counts.items()
    )
    return Group(
        Panel(Text(story.line), title="Fairlane", subtitle=f"event {snapshot.seq}"),
        Text(counts or "all done", style="bold"),
        running,
        queue,
        ended,
    )


async def snapshots() -> AsyncIterator[Snapshot]:
    while True:
        snapshot = await app.snapshot(waiting=3, ended=7)
        yield snapshot
        if not snapshot.counts:
            return
        await asyncio.sleep(0.2)


async def show_live(console: Console, story: Story) -> None:
    with Live(console=console, refresh_per_second=8, transient=False) as live:
        async for snapshot in snapshots():
            live.update(picture(snapshot, await reasons(snapshot, 3), story))


async def show_lines(console: Console, story: Story) -> None:
    """Without a terminal: one line per thing that happens."""
    told = ""
    async for event in app.events():
        if story.line != told:
            told = story.line
            console.print(f"-- {told}")
        if event.type == "job_state_changed" and event.job:
            console.print(
                f"{event.seq:>5}  {event.queue:<9} {event.job[-6:]}  {event.data['state']}"
            )
        if not (await app.snapshot(waiting=0, ended=0)).counts:
            return


async def main(*, plain: bool) -> None:
    console = Console()
    story = Story()
    async with app:
        if (await app.snapshot()).counts:
            story.line = "tour.db had unfinished jobs from an earlier run: they go on."
        else:
            await submit_everything()
        telling = asyncio.create_task(story.tell())
        show = show_lines if plain or not console.is_terminal else show_live
        await show(console, story)
        telling.cancel()
        page = await app.history(limit=1000)
    states = [job.state for job in page.items]
    console.print(
        f"\nDone: {states.count('completed')} completed, {states.count('failed')} failed (as "
        f"planned: one account is gone). All of it is in {DATABASE}; "
        "the next step is docs/quickstart.md."
    )


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--plain", action="store_true", help="print lines instead of a live picture"
    )
    try:
        asyncio.run(main(plain=parser.parse_args().plain))
    except KeyboardInterrupt:
        print("\nStopped. What ran was handed back; run it again and it goes on.")
        sys.exit(130)
