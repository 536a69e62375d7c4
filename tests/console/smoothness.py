"""`make smoothness`: the console with 10,000 jobs in the list and 200 events a second.

A real server, and a real browser that scrolls through the list all the time. Printed each half
minute: how long frames took, how many events the page was told, and its heap after a collection.
It fails if the heap of the last minutes is larger than at the beginning.
"""

import argparse
import asyncio
import contextlib
import tempfile
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, Final

from playwright.async_api import CDPSession, Page

from fairlane import Context, Fairlane
from tests.support.browser import chromium, visiting
from tests.support.followers import served

JOBS: Final = 10_000
RUNNING: Final = 50
EVENTS_PER_SECOND: Final = 200
ROUND_SECONDS: Final = 30
MOST_GROWTH: Final = 1.5  # of the heap, after the first round, which fills caches

# Scrolls the list down and up again, a little per frame, and records the duration of each frame.
# The list is the tallest scrolling element on the page.
SCROLL: Final = """
async (seconds) => {
  const all = [...document.querySelectorAll("*")].filter((one) => one.clientHeight > 200);
  const room = (one) => one.scrollHeight - one.clientHeight;
  const list = all.reduce((tallest, one) => (room(one) > room(tallest) ? one : tallest));
  const times = [];
  let before = performance.now();
  const end = before + 1000 * seconds;
  let step = 120;
  while (before < end) {
    await new Promise(requestAnimationFrame);
    const now = performance.now();
    times.push(now - before);
    before = now;
    if (list.scrollTop + step < 0 || list.scrollTop + step > room(list)) step = -step;
    list.scrollTop += step;
  }
  return { times: times.slice(2), room: room(list) };
}
"""
COUNT: Final = """
const listen = EventSource.prototype.addEventListener;
window.told = 0;
EventSource.prototype.addEventListener = function (type, listener, ...more) {
  const counted = (event) => { window.told += 1; return listener.call(this, event); };
  return listen.call(this, type, counted, ...more);
};
"""


def program(folder: Path) -> Fairlane:
    app = Fairlane(f"sqlite:///{folder}/work.db", slots=RUNNING, stop_grace_seconds=0)
    app.queue("crowd", max_concurrent=RUNNING)

    @app.task(queue="crowd", stages=["first", "second"])
    async def walk(ctx: Context, name: str) -> None:
        """Walk for a while, and tell four times a second how far."""
        for stage in ("first", "second"):
            async with ctx.stage(stage) as part:
                for step in range(120):
                    await asyncio.sleep(RUNNING / EVENTS_PER_SECOND)
                    part.progress(step / 1.2, f"step {step} of {name}")

    return app


@asynccontextmanager
async def crowd() -> AsyncIterator[tuple[Fairlane, str]]:
    with tempfile.TemporaryDirectory() as folder:
        app = program(Path(folder))
        async with app, served(app) as url:
            await add(app, JOBS + RUNNING)
            yield app, url


async def add(app: Fairlane, amount: int) -> None:
    walk = app.tasks["walk"]
    await app.submit_many([walk.call(f"walker {number}") for number in range(amount)])


async def keep_full(app: Fairlane) -> None:
    """Bring a new job for each that has ended."""
    while True:
        counts = (await app.queues.counts()).get("crowd", {})
        missing = JOBS + RUNNING - sum(counts.values())
        if missing > 0:
            await add(app, missing)
        await asyncio.sleep(1)


async def heap_megabytes(session: CDPSession) -> float:
    await session.send("HeapProfiler.collectGarbage")
    found: Any = await session.send("Runtime.getHeapUsage")
    return float(found["usedSize"]) / 1e6


async def measure(page: Page, minutes: float) -> list[float]:
    session = await page.context.new_cdp_session(page)
    heaps = [await heap_megabytes(session)]
    say(f"at first the heap has {heaps[0]:.1f} MB")
    end = time.monotonic() + 60 * minutes
    while time.monotonic() < end:
        told = await page.evaluate("told")
        seconds = min(ROUND_SECONDS, max(1.0, end - time.monotonic()))
        began = time.monotonic()
        scrolled = await page.evaluate(SCROLL, seconds)
        rate = (await page.evaluate("told") - told) / (time.monotonic() - began)
        heaps.append(await heap_megabytes(session))
        say(f"{frames(scrolled['times'])}; {rate:.0f} events/s; heap {heaps[-1]:.1f} MB; "
            f"the list is {scrolled['room']:,} px long")  # fmt: skip
    return heaps


def frames(times: list[float]) -> str:
    ordered = sorted(times)

    def at(part: float) -> float:
        return ordered[min(len(ordered) - 1, int(part * len(ordered)))]

    slow = sum(time > 50 for time in times)
    return (
        f"{len(times)} frames: median {at(0.5):.1f} ms, 95 % {at(0.95):.1f}, 99 % {at(0.99):.1f}, "
        f"longest {ordered[-1]:.0f}, {slow} over 50 ms"
    )


def say(line: str) -> None:
    print(line, flush=True)  # noqa: T201


async def main(minutes: float) -> None:
    async with crowd() as (app, url), chromium("--js-flags=--expose-gc") as browser:
        feeding = asyncio.create_task(keep_full(app))
        try:
            async with visiting(browser, base_url=f"{url}/") as context:
                await context.add_init_script(COUNT)
                page = await context.new_page()
                await page.goto("./#/queue?queue=crowd")
                await page.get_by_role("main").get_by_text("walk").first.wait_for()
                heaps = await measure(page, minutes)
        finally:
            feeding.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await feeding
    if len(heaps) > 2 and heaps[-1] > MOST_GROWTH * heaps[1]:
        raise SystemExit(f"the heap grew from {heaps[1]:.1f} to {heaps[-1]:.1f} MB")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--minutes", type=float, default=10.0)
    asyncio.run(main(parser.parse_args().minutes))
