"""A small media studio to watch and control in the console: `make run`.

It archives accounts (a lane each), downloads videos, compresses them one at a time, writes
transcripts on its one gpu, shows films on its screens and checks a flaky service. Only the queue
is real: tasks sleep, and no network is used. The demo submits new jobs while it runs, never more
than a few dozen at a time. Its temporary folder is deleted at the end.

To have a history at the start, its clock begins half an hour in the past and catches up with the
real time in three seconds.
"""

import argparse
import asyncio
import contextlib
import logging
import os
import random
import shutil
import signal
import socket
import sys
import tempfile
import webbrowser
from collections.abc import AsyncIterator, Iterator, Mapping
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Annotated, Any, Literal

import uvicorn
from catching_up import CatchingUp
from pydantic import Field, SecretStr

from fairlane import Call, Conflict, Context, Device, Fairlane, Give, Permanent, Priority, Retry

PORT = 8420
PAST_SECONDS = 30 * 60
CATCH_UP_SECONDS = 3.0
FOLDER = Path(tempfile.gettempdir()) / f"fairlane-demo-{os.getpid()}"
ACCOUNTS = ["esa", "nasa", "noaa", "nrk", "rijksmuseum", "故宫博物院"]
IDLE_ACCOUNTS = ["loc", "tate", "unesco"]  # for the user to start
TITLES = [
    "aurora over Tromsø", "how bread rises", "a walk through Kyoto", "the tides of Fundy",
    "night trains of Europe", "小城的早晨", "Sagrada Família", "salt & pepper",
    "glass blowing", "lecture 7: queues", "the last lighthouse", "wind over the dunes",
]  # fmt: skip
SCREENS = {"foyer": ["large"], "studio 1": ["large", "sound"], "studio 2": ["sound"], "attic": []}
SITES = ["feeds.example", "media.example", "search.example"]

clock = CatchingUp()
nap = clock.nap


class Screen(Device):
    """A screen; the one in the attic has no cable and stays down."""

    async def connect(self) -> None:
        if self.name == "attic":
            raise ConnectionError("no signal: check its cable")


app = Fairlane(
    f"sqlite:///{FOLDER}/demo.db", clock=clock, slots=32, stop_grace_seconds=1, keep_history=500
)
app.queue("archive", max_concurrent=3, on_conflict="reject")
app.queue("downloads", max_concurrent=4)
app.queue("compress", max_concurrent=1, order="strict")
app.queue("transcripts", max_concurrent=3)
app.queue("checks", order="round_robin")
app.queue("reports", max_concurrent=1)
app.queue("screens", devices=Screen)
app.limit("service", starts=6, per_seconds=60)
app.resource("gpu", 1)


@app.task(queue="archive", lane="{account}", stages=["listing", "saving"])
async def archive(
    ctx: Context,
    account: Annotated[str, Field(min_length=1, max_length=100)],
    posts: Annotated[int, Field(ge=1, le=500, description="How many to save")] = 40,
    media: Literal["everything", "pictures", "videos"] = "everything",
    token: SecretStr | None = None,
) -> dict[str, int]:
    """Save the posts of an account; a `continue` job starts from the checkpoint."""
    saved = ctx.checkpoint.get("saved", 0)
    async with ctx.stage("listing") as stage:
        for page in range(1, 5):
            await nap(0.3, 1.2)
            stage.progress(25 * page, f"page {page} of 4")
    ctx.log(f"{posts} posts of {account} to save, {saved} are saved already")
    async with ctx.stage("saving") as stage:
        for number in range(1, posts + 1):
            await nap(0.2, 0.9)
            stage.progress(100 * number / posts, f"post {number} of {posts}")
            ctx.report(saved=number, skipped=number // 9, megabytes=round(number * 3.7, 1))
            ctx.checkpoint["saved"] = saved + number
            if number % 10 == 0:
                ctx.log(f"saved {saved + number} posts so far")
    return {"saved": posts}


@app.task(
    queue="downloads",
    stages=["resolve", "download", "verify"],
    retry=Retry(times=3, first_seconds=6),
)
async def download(
    ctx: Context,
    title: str,
    site: str = "video.example",
    quality: Literal["best", "1080p", "720p"] = "best",
) -> dict[str, Any]:
    """Download a video. Slow servers are retried; some videos are deleted."""
    async with ctx.stage("resolve"):
        await nap(0.5, 2)
        ctx.log(f"found {title!r} on {site}")
        refuse_deleted_video(title, site)
    size = random.randint(80, 600)
    async with ctx.stage("download") as stage:
        for step in range(1, 26):
            await nap(0.2, 1.0)
            if step == 12 and ctx.attempt == 1 and random.random() < 0.25:
                ctx.log("no data for 30 s", "warning")
                raise TimeoutError("the server stopped sending")
            rate = random.uniform(6, 14)
            stage.progress(4 * step, f"{size * step / 25:.0f} of {size} MB · {rate:.1f} MB/s")
        ctx.report(megabytes=size)
    async with ctx.stage("verify"):
        await nap(0.5, 1.5)
    return {"megabytes": size, "quality": quality}


def refuse_deleted_video(title: str, site: str) -> None:
    if site == "gone.example":
        raise Permanent(f"404: {title!r} is no longer on {site}")


@app.task(
    queue="compress",
    outputs=[lambda params: str(FOLDER / f"{params['title'][:40]}.mp4")],
    on_output="overwrite",
)
async def compress(
    ctx: Context,
    title: Annotated[str, Field(pattern=r"^[^/]+$")],
    preset: Literal["fast", "balanced", "small"] = "balanced",
    crf: Annotated[int, Field(ge=0, le=51, description="Lower is better, and larger")] = 23,
) -> dict[str, Any]:
    """Compress a video, one at a time; the file appears when it is complete."""
    frames = random.randint(2_000, 9_000)
    async with ctx.output(ctx.outputs[0]) as part:
        with part.open("wb") as file:
            for step in range(1, 61):
                await nap(0.2, 0.6)
                file.write(bytes(512))
                speed = random.uniform(1.6, 2.4)
                ctx.progress(step / 0.6, f"frame {frames * step // 60} of {frames} · {speed:.1f}×")
                ctx.report(fps=round(25 * speed), crf=crf)
    return {"saved_percent": random.randint(35, 70), "preset": preset}


@app.task(queue="transcripts", stages=["audio", "speech", "text"])
async def transcribe(
    ctx: Context, title: str, language: Literal["auto", "en", "zh"] = "auto"
) -> dict[str, Any]:
    """Write a transcript; speech recognition needs the gpu."""
    await ctx.stage("audio").run(nap, 1.0, 3.0)
    await ctx.stage("speech").run(
        recognise, title, uses={"gpu": 1}, retry=Retry(times=1, first_seconds=3), fallback=Give("")
    )
    await ctx.stage("text").run(nap, 0.5, 1.5)
    return {"words": random.randint(400, 3_000), "language": language}


async def recognise(title: str) -> str:
    await nap(4, 9)
    if random.random() < 0.2:
        raise ValueError(f"no speech was found in {title!r}")
    return title


@app.task(
    queue="checks", bucket="{site}", limits=["service"], retry=Retry(times=2, first_seconds=8)
)
async def check(ctx: Context, site: str) -> dict[str, int]:
    """Check the status of a service, which allows six requests a minute."""
    await nap(0.4, 2)
    answer = random.choices([200, 503, 410], [75, 20, 5])[0]
    if answer == 503:
        raise ConnectionError(f"{site} answered 503")
    if answer == 410:
        raise LookupError(f"{site} answered 410: this account is gone")
    ctx.report(status=answer)
    return {"status": answer}


@app.task(queue="screens", requires=["{needs}"])
async def show(ctx: Context, title: str, needs: Literal["large", "sound"] = "sound") -> str:
    """Show a film on a screen with the required label."""
    for minute in range(1, 31):
        await nap(0.4, 0.8)
        ctx.progress(minute / 0.3, f"minute {minute} of 30 on {ctx.device.name}")
    return str(ctx.device.name)


@app.task(queue="reports")
async def report(ctx: Context, title: str) -> str:
    """Write a report; it depends on the jobs it describes."""
    for step in range(1, 11):
        await nap(0.3, 0.8)
        ctx.progress(10 * step, f"chapter {step} of 10")
    return f"{title}.pdf"


def room(params: Mapping[str, Any]) -> str | None:
    wanted = params["gigabytes"]
    return None if wanted <= 120 else f"120 GB are free on the backup disk, {wanted} are needed"


@app.task(queue="reports", preconditions=[room])
async def backup(gigabytes: Annotated[int, Field(ge=1, le=10_000)]) -> None:
    """Copy all files to another disk, as soon as it has enough space."""
    await nap(gigabytes / 10)


app.schedule("status of the feeds", check.call(site="feeds.example"), every_seconds=60)
app.schedule(
    "nightly report", report.call(title="the night"), cron="0 3 * * *", timezone="Europe/Berlin"
)
app.schedule("weekly backup", backup.call(gigabytes=80), cron="0 6 * * 0")


# The submissions while the demo runs.


def a_priority() -> Priority:
    return random.choices([Priority.HIGH, Priority.NORMAL, Priority.LOW], [1, 6, 2])[0]


def a_download() -> Call[Any]:
    site = random.choices(["video.example", "gone.example"], [12, 1])[0]
    quality: Any = random.choice(["best", "1080p", "720p"])
    return download.options(priority=a_priority()).call(random.choice(TITLES), site, quality)


def a_compression() -> Call[Any]:
    preset: Any = random.choice(["fast", "balanced", "small"])
    return compress.options(priority=a_priority()).call(random.choice(TITLES), preset)


async def supply(queue: str) -> None:
    """Submit one more job, or a few that depend on one another."""
    match queue:
        case "archive":
            account = random.choice(ACCOUNTS)
            run = random.choice([app.lanes.start, app.lanes.continue_])
            with contextlib.suppress(Conflict):  # its lane is busy
                await run("archive", account)
        case "downloads":
            await app.submit(a_download())
        case "compress":
            await app.submit(a_compression())
        case "transcripts":
            first = await app.submit(a_download())
            await transcribe.options(depends_on=[first]).submit(random.choice(TITLES))
        case "checks":
            await check.submit(random.choice(SITES))
        case "screens":
            needs: Any = random.choice(["large", "sound"])
            await show.submit(random.choice(TITLES), needs)
        case "reports":
            last = await transcribe.submit(random.choice(TITLES))
            await report.options(depends_on=[last], run_anyway=True).submit("today's transcripts")


MOST_WAITING = {
    "archive": 2, "downloads": 9, "compress": 7, "transcripts": 4, "checks": 5, "reports": 3,
    "screens": 3,
}  # fmt: skip


async def keep_busy() -> None:
    while True:
        counts = await app.queues.counts()
        for queue, most in MOST_WAITING.items():
            states = counts.get(queue, {})
            missing = most - sum(states.values()) + states.get("running", 0)
            for _ in range(min(missing, random.randint(0, 2))):
                await supply(queue)
        await nap(1, 4)


async def set_the_stage() -> None:
    """Save parameters for every lane, and submit jobs that are scheduled or blocked."""
    for account in ACCOUNTS + IDLE_ACCOUNTS:
        posts = random.randrange(20, 80, 5)
        await app.lanes.save("archive", account, archive.call(account, posts=posts))
    for screen, labels in SCREENS.items():
        await app.devices.save(screen, queue="screens", labels=labels)
    tomorrow = datetime.now(UTC) + timedelta(days=1)
    await report.options(run_at=tomorrow).submit("tomorrow's plan")
    await backup.submit(gigabytes=400)


# The server.


class Server(uvicorn.Server):
    """A server that does not raise the signal again, so that the engine stops cleanly."""

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, self.handle_exit)
        yield


def listen(port: int) -> socket.socket:
    """Return a socket on this port, or on the next free port."""
    for candidate in [*range(port, port + 20), 0]:
        with contextlib.suppress(OSError):
            return socket.create_server(("127.0.0.1", candidate))
    raise SystemExit("no free port to listen on")


@contextlib.asynccontextmanager
async def studio() -> AsyncIterator[None]:
    """Run the engine and submit new jobs until the block ends."""
    clock.begin(past_seconds=PAST_SECONDS, within_seconds=CATCH_UP_SECONDS)
    async with app, asyncio.TaskGroup() as group:
        await set_the_stage()
        feeding = group.create_task(keep_busy())
        await clock.meet()
        yield
        feeding.cancel()


async def serve(listener: socket.socket, *, open_browser: bool) -> None:
    server = Server(uvicorn.Config(app.asgi(), log_config=None, timeout_graceful_shutdown=2))
    url = f"http://127.0.0.1:{listener.getsockname()[1]}"
    async with studio():
        serving = asyncio.create_task(server.serve(sockets=[listener]))
        print(GREETING.format(url=url), flush=True)
        if open_browser:
            await asyncio.to_thread(webbrowser.open, url)
        await serving


GREETING = """\
Fairlane's console is on {url} (Ctrl-C ends it).

Try this there:
  - drag a waiting job up, or choose "Start now"; see why it waits and when it will start
  - pause a queue, or change its concurrency with the control in its header
  - open Lanes and start "tate"; copy its parameters to "loc"; see why "nasa" is locked
  - cancel a compression and delete its files; retry a failed download
  - open Workers, pause a screen, and see why the one in the attic is down
  - press ? for the keyboard shortcuts
"""


def has_display() -> bool:
    if not sys.stdout.isatty():
        return False
    on_unix = sys.platform not in ("win32", "darwin")
    return not on_unix or bool(os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY"))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--port", type=int, default=PORT, help="the first port to try; 0 for any free port"
    )
    parser.add_argument("--no-browser", action="store_true", help="do not open a browser")
    arguments = parser.parse_args()
    logging.getLogger("fairlane").addHandler(logging.NullHandler())  # the console shows failures
    FOLDER.mkdir()
    try:
        with listen(arguments.port) as listener:
            open_browser = has_display() and not arguments.no_browser
            asyncio.run(serve(listener, open_browser=open_browser))
    finally:
        shutil.rmtree(FOLDER, ignore_errors=True)
    print("Stopped.")


if __name__ == "__main__":
    main()
