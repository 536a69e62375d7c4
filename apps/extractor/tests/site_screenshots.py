"""Every view of the page, on a desktop and a phone, in both languages and themes.

`python -m apps.extractor.tests.site_screenshots FOLDER` takes them all.
"""

import asyncio
import sys
import tempfile
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Final

from playwright.async_api import Browser, Page

from apps.extractor.tests.site_program import LINES, LINK, kept_clip, scripted
from fairlane import Permanent
from fairlane_extractor.segments import Line, Source
from fairlane_extractor.site import Tasks
from tests.support.browser import chromium, visiting
from tests.support.followers import serving_application

DESKTOP: Final = {"width": 1280, "height": 860}
PHONE: Final = {"width": 390, "height": 844}
TALK: Final = (
    "Good morning, and welcome to the river walk.",
    "Today we follow the water from the old bridge to the harbour.",
    "今天我们从老桥出发，沿着河走到港口。",
    "The bridge was built of stone, and it has stood for four hundred years.",
    "Look at the marks on the second pillar: they show the highest floods.",
    "最高水位：一八七二年",
    "Every mark has a date, and the last one is only ten years old.",
    "When we have reached the mill, we will stop for a cup of tea.",
    "老磨坊 · 茶馆",
    "The mill still grinds flour on Saturdays, if the water is high enough.",
    "From here the path is narrow, so please walk one behind the other.",
    "And that is the harbour. Thank you for coming with me.",
)
FAILED: Final = "https://www.xiaohongshu.com/explore/64f0c2b1000000001e03c5a7"
RUNNING: Final = "https://www.bilibili.com/video/BV1xx411c7mD"
SECOND: Final = "https://v.douyin.com/iRNBho6u/"
WAITING: Final = ("https://www.youtube.com/watch?v=dQw4w9WgXcQ", "/home/ann/videos/lecture 12.mkv")


def lines_of_talk() -> tuple[Line, ...]:
    return tuple(_line(number, text) for number, text in enumerate(TALK))


def _line(number: int, text: str) -> Line:
    is_sign = text[0] > "z"
    said: tuple[Source, ...] = ("subtitle", "speech") if number % 3 else ("speech",)
    start = 0.4 + 4.2 * number
    return Line(
        start=start, end=start + 3.8, text=text, sources=("frame",) if is_sign else said,
        confidence=0.61 if number == 4 else 0.93, language="zh" if is_sign else "en",
        paragraph=number // 4,
    )  # fmt: skip


@asynccontextmanager
async def busy_site(folder: Path) -> AsyncIterator[tuple[str, dict[str, str]]]:
    """Serve a site with tasks in every state; yield its address and the addresses of views."""
    async with scripted(folder) as (extractor, script):
        script.media = kept_clip(
            extractor, seconds=52, speech=[(0.5, TALK[0])], captions=[(0, 52, TALK[1])]
        )
        tasks, jobs = Tasks(extractor), extractor.app.jobs
        talk = await tasks.create_task(LINK)
        script.finish(LINK, lines=lines_of_talk(), title="A walk along the river · 河边散步")
        await jobs.wait(talk)
        short = await tasks.create_task("https://www.douyin.com/video/7301234567890")
        script.media = None
        script.finish("https://www.douyin.com/video/7301234567890", lines=LINES, title="小镇一日")
        await jobs.wait(short)
        failed = await tasks.create_task(FAILED)
        script.fail(
            FAILED,
            Permanent(
                "this page needs a login; try a local upload of the file", code="login_required"
            ),
        )
        await jobs.wait(failed)
        running = await tasks.create_task(RUNNING)
        script.done(RUNNING, 2)
        script.skip(RUNNING, "no subtitles")
        script.progress(RUNNING, 45, "1:12 of 2:40")
        await tasks.create_task(SECOND)
        script.progress(SECOND, 60, "resolving the short link")
        for input in WAITING:
            await tasks.create_task(input)
        views = {
            "home": "#/", "text": f"#/task/{talk}?t=17.3", "running": f"#/task/{running}",
            "failed": f"#/task/{failed}", "search": "#/search?q=bridge",
            "search-zh": "#/search?q=河",
        }  # fmt: skip
        async with serving_application(extractor.app.asgi()) as url:
            yield url, views


async def take_all(folder: Path) -> None:
    with tempfile.TemporaryDirectory() as name:
        async with busy_site(Path(name)) as (url, views), chromium() as browser:
            for size, viewport in (("desktop", DESKTOP), ("phone", PHONE)):
                for language in ("en", "zh"):
                    for theme in ("light", "dark"):
                        look = f"{size}-{language}-{theme}"
                        await take(browser, url, folder, look, viewport, views)


async def take(
    browser: Browser, url: str, folder: Path, look: str, viewport: dict[str, int],
    views: dict[str, str],
) -> None:  # fmt: skip
    _, language, theme = look.split("-")
    locale = {"en": "en-GB", "zh": "zh-CN"}[language]
    async with visiting(
        browser, base_url=f"{url}/", viewport=viewport, locale=locale, color_scheme=theme
    ) as context:
        for name, address in views.items():
            page = await context.new_page()
            await page.goto(f"./{address}")
            await page.locator(".tasks, .lines, .stages, .hits").first.wait_for(state="attached")
            await page.wait_for_load_state("networkidle")
            await check_width(page, f"{name} {look}")
            await page.screenshot(path=folder / f"{name}-{look}.png")
            await page.close()


async def check_width(page: Page, place: str) -> None:
    width = await page.evaluate("document.documentElement.scrollWidth - innerWidth")
    if width > 0:
        sys.stderr.write(f"{place} scrolls by {width} pixels\n")


def main() -> None:
    folder = Path(sys.argv[1] if len(sys.argv) > 1 else "screenshots")
    folder.mkdir(parents=True, exist_ok=True)
    asyncio.run(take_all(folder))


if __name__ == "__main__":
    main()
