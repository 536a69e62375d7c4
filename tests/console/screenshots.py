"""Pictures of every page in both themes, of the studio of `make run` at work: `make screenshots`.

They go to `screenshots/`, which is not kept. The few that documents show are in `docs/images/`;
`make screenshots ARGS=--keep` takes those anew.
"""

import argparse
import asyncio
import re
import subprocess
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, Final

import httpx
from playwright.async_api import Browser, Page

from tests.support.browser import PHONE, chromium, visiting

ROOT: Final = Path(__file__).resolve().parent.parent.parent
SCREENSHOTS: Final = ROOT / "screenshots"
KEPT: Final = ROOT / "docs" / "images"
KEPT_NAMES: Final = ("downloads-light", "downloads-dark", "lanes-light", "insights-dark")
DESKTOP: Final = {"width": 1280, "height": 720}
SHAPES: Final = (
    ("light", "", DESKTOP),
    ("dark", "", DESKTOP),
    ("light", "-phone", PHONE),
    ("dark", "-zh", DESKTOP),
)
LIVELY_SECONDS: Final = 12.0

PAGES: Final = {
    "queue": "#/queue",
    "downloads": "#/queue?queue=downloads",
    "lanes": "#/lanes",
    "new": "#/new?task=compress",
    "schedules": "#/schedules",
    "workers": "#/workers",
    "history": "#/history",
    "failed": "#/history?state=failed",
    "insights": "#/insights?queue=downloads",
}


@asynccontextmanager
async def demo() -> AsyncIterator[str]:
    """Run the studio for as long as the block lasts, and give its address."""
    process = subprocess.Popen(
        [sys.executable, "examples/demo.py", "--port", "0", "--no-browser"],
        cwd=ROOT,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    try:
        line = await asyncio.to_thread(process.stdout.readline)
        found = re.search(r"http://[\d.:]+", line)
        assert found is not None, f"the demo said {line!r}"
        yield found[0]
    finally:
        process.terminate()
        process.communicate()


async def jobs_to_show(url: str) -> dict[str, str]:
    """Choose a job that will run for a while, one that failed and one that waits."""
    async with httpx.AsyncClient(base_url=url) as client:
        state: Any = (await client.get("/api/state")).json()
    running = [job for job in state["running"] if job["task"] == "archive"]
    running.sort(key=lambda job: job["params"]["posts"] * (100 - (job["progress"]["percent"] or 0)))
    failed = [job for job in state["ended"] if job["state"] == "failed"]
    waiting = [job for jobs in state["waiting"].values() for job in jobs if job["waiting_for"]]
    chosen = {"running": running[-1:], "failed": failed[:1], "waiting": waiting[:1]}
    return {f"job-{name}": f"#/jobs/{jobs[0]['id']}" for name, jobs in chosen.items() if jobs}


async def wait_for_downloads(url: str) -> None:
    """Wait until the queue `downloads` is full of jobs with progress, if it is before long."""
    async with httpx.AsyncClient(base_url=url) as client:
        for _ in range(100):
            state: Any = (await client.get("/api/state")).json()
            running = [job for job in state["running"] if job["queue"] == "downloads"]
            percents = [job["progress"]["percent"] or 0 for job in running]
            if len(percents) == 4 and min(percents) > 30 and max(percents) < 58:
                return
            await asyncio.sleep(0.3)


async def take(browser: Browser, url: str, *, keep: bool) -> list[Path]:
    taken = []
    for theme, suffix, viewport in SHAPES:
        options = {"locale": "zh-CN" if suffix == "-zh" else "en-GB", "viewport": viewport}
        async with visiting(browser, base_url=f"{url}/", color_scheme=theme, **options) as context:
            page = await context.new_page()
            for name, place in (await jobs_to_show(url) | PAGES).items():
                path = SCREENSHOTS / f"{name}-{theme}{suffix}.png"
                if name == "downloads":
                    await wait_for_downloads(url)
                await picture(page, place, path)
                taken.append(path)
                if keep and path.stem in KEPT_NAMES:
                    (KEPT / path.name).write_bytes(path.read_bytes())
    return taken


async def picture(page: Page, place: str, path: Path) -> None:
    await page.goto(f"./{place}")
    await page.reload()  # an address that differs in its last part does not load by itself
    await page.get_by_role("main").wait_for()
    await page.wait_for_load_state("load")
    if "insights" in place:
        for _ in range(3):
            await page.get_by_role("slider").press("ArrowRight")
    await page.wait_for_timeout(1_500)  # for forecasts, plots and a few events
    await page.screenshot(path=path)


async def main(*, keep: bool, url: str | None) -> None:
    SCREENSHOTS.mkdir(exist_ok=True)
    KEPT.mkdir(exist_ok=True)
    async with chromium() as browser:
        if url is not None:
            taken = await take(browser, url, keep=keep)
        else:
            async with demo() as place:
                await asyncio.sleep(LIVELY_SECONDS)
                taken = await take(browser, place, keep=keep)
    for path in taken:
        print(f"{path.relative_to(ROOT)}  {path.stat().st_size / 1000:.0f} kB")  # noqa: T201


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--keep", action="store_true", help="take those of docs/images anew")
    parser.add_argument("--url", help="a server that runs already, instead of the demo")
    arguments = parser.parse_args()
    asyncio.run(main(keep=arguments.keep, url=arguments.url))
