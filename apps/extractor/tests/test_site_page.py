"""The page in a real browser, with extractions that follow a script."""

import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, Final

import pytest
import pytest_asyncio
from axe_playwright_python.async_playwright import Axe
from playwright.async_api import Browser, Page, WebSocketRoute, expect

from apps.extractor.tests import site_program
from apps.extractor.tests.site_program import (
    LINK,
    SIGN,
    Script,
    ScriptedExtraction,
    kept_clip,
    scripted,
)
from fairlane import Permanent
from fairlane_extractor.program import Extractor
from tests.support.browser import PHONE, chromium, visiting, without_complaints
from tests.support.followers import OPERATE, READ, serving_application

pytestmark = pytest.mark.asyncio(loop_scope="module")
RULES: Final = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"]
WAITING: Final = "https://www.bilibili.com/video/BV1xx411c7mD"
SECOND: Final = "https://v.douyin.com/iabc/"


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def browser() -> AsyncIterator[Browser]:
    async with chromium() as browser:
        yield browser


@asynccontextmanager
async def opened_site(
    browser: Browser, extractor: Extractor, *, tokens: dict[str, Any] | None = None, **options: Any
) -> AsyncIterator[Page]:
    """Serve a site and open a tab for it, which must log no errors."""
    async with (
        serving_application(extractor.app.asgi(**(tokens or {}))) as url,
        visiting(browser, base_url=f"{url}/", **options) as context,
    ):
        page = await context.new_page()
        with without_complaints(page):
            yield page


@asynccontextmanager
async def opened(
    browser: Browser, folder: Path, **options: Any
) -> AsyncIterator[tuple[Page, Extractor, Script]]:
    """Open the page of an extractor."""
    async with (
        scripted(folder) as (extractor, script),
        opened_site(browser, extractor, **options) as page,
    ):
        await page.goto("./")
        yield page, extractor, script


async def violations(page: Page) -> list[str]:
    options: Any = {"resultTypes": ["violations"], "runOnly": RULES}
    found = (await Axe().run(page, options=options)).response["violations"]
    return [f"{one['id']}: {node['html'][:200]} {node['failureSummary'][:300]}"
            for one in found for node in one["nodes"]]  # fmt: skip


async def is_as_wide_as_the_window(page: Page) -> bool:
    return bool(await page.evaluate("document.documentElement.scrollWidth <= innerWidth"))


async def test_pasted_links_become_tasks_whose_stages_are_live(
    browser: Browser, tmp_path: Path
) -> None:
    async with opened(browser, tmp_path) as (page, _, script):
        pasted = f"看看这个 {SECOND} 复制此链接\n\n{LINK}\n{WAITING}\n{LINK}"
        await page.get_by_label("Links").fill(pasted)
        await expect(page.get_by_text("3 inputs")).to_be_visible()
        await page.get_by_role("button", name="Extract", exact=True).click()
        rows = page.locator("[data-task]")
        await expect(rows).to_have_count(3)
        await expect(page.get_by_label("Links")).to_have_value("")
        walk = rows.filter(has_text="watch?v=walk")
        waiting = rows.filter(has_text="BV1xx")
        await expect(walk).to_contain_text("Parsing")
        await expect(waiting).to_contain_text("Waiting")

        script.done(LINK, 3)
        script.progress(LINK, 45, "语音识别进行中...")
        await expect(walk).to_contain_text("Speech · 45 % · 语音识别进行中...")
        await expect(walk).to_contain_text("Extracting")
        bar = walk.get_by_role("progressbar")
        await expect(bar).to_have_attribute("aria-valuetext", re.compile("57 %, Speech · 45 %"))

        script.fail(SECOND, Permanent("no media; try a local upload of the file", code="no_media"))
        douyin = rows.filter(has_text="v.douyin.com")
        await expect(douyin).to_contain_text("try a local upload")
        await expect(waiting).to_contain_text("Parsing")
        script.finish(LINK)
        link = walk.get_by_role("link", name="A walk")
        await expect(link).to_be_visible()
        await expect(rows.first).to_contain_text("BV1xx")

        await page.get_by_role("button", name="Failed", exact=True).click()
        await expect(rows).to_have_count(1)
        await page.get_by_role("button", name="All", exact=True).click()
        await page.get_by_label("Filter by link or file name").fill("bilibili")
        await expect(rows).to_have_count(1)
        await waiting.get_by_role("button", name="Cancel").click()
        await expect(waiting).to_contain_text("Cancelled")
        await page.get_by_label("Filter by link or file name").fill("")
        for name, part in (("Failed", "v.douyin.com"), ("Cancelled", "BV1xx")):
            await page.get_by_role("button", name=name, exact=True).click()
            await expect(rows).to_have_count(1)
            await expect(rows).to_contain_text(part)
        await page.reload()
        await expect(rows).to_have_count(3)
        assert not await violations(page)


async def test_a_line_of_the_text_plays_the_media_from_its_time(
    browser: Browser, tmp_path: Path
) -> None:
    async with opened(browser, tmp_path) as (page, extractor, script):
        script.media = kept_clip(extractor, seconds=8, captions=[(0, 8, "The river is wide here.")])
        job = await extractor.extract.submit(input=LINK)
        script.finish(LINK)
        await page.get_by_role("link", name="A walk").click()
        await expect(page.get_by_role("heading", level=1)).to_have_text("A walk")
        lines = page.locator(".lines li")
        await expect(lines).to_have_count(3)
        video = page.locator("video")
        await expect(video).to_have_js_property("readyState", 4)
        await page.evaluate("document.querySelector('video').muted = true")
        await page.get_by_text("We crossed the old bridge.").click()
        await expect(lines.nth(1)).to_have_attribute("aria-current", "true")
        await expect(video).to_have_js_property("paused", False)
        assert 2.5 <= await page.evaluate("document.querySelector('video').currentTime") < 5.4
        # The playback goes on by itself into the next line.
        await page.evaluate("document.querySelector('video').currentTime = 5.3")
        await expect(lines.nth(2)).to_have_attribute("aria-current", "true")
        await expect(page.locator("[aria-current]")).to_have_count(1)
        await page.evaluate("document.querySelector('video').pause()")

        await page.get_by_role("button", name="Play from 0:00").focus()
        await page.keyboard.press("Enter")
        await expect(lines.nth(0)).to_have_attribute("aria-current", "true")
        await page.get_by_label("Find in this text").fill("RIVER")
        await expect(page.locator(".lines li:visible")).to_have_count(1)
        await expect(page.get_by_text("1 line", exact=True)).to_be_visible()
        await page.get_by_label("Find in this text").fill("")

        parts = page.locator(".parts")
        await expect(parts).to_contain_text("track en · 1 segment")
        await expect(parts).to_contain_text("the subtitles have it")
        async with page.expect_download() as download:
            await page.get_by_role("link", name="Download as srt").click()
        saved = await (await download.value).path()
        assert (await download.value).suggested_filename == "A walk.srt"
        assert "00:00:02,600 --> 00:00:05,000" in saved.read_text()
        assert not await violations(page)

        await page.get_by_label("Search in all texts").fill("bridge")
        await page.keyboard.press("Enter")
        hit = page.locator(".hits").get_by_role("link", name="We crossed the old bridge.")
        await expect(hit.locator("mark")).to_have_text("bridge")
        assert not await violations(page)
        await hit.click()
        await expect(lines.nth(1)).to_have_attribute("aria-current", "true")
        await expect(page).to_have_url(re.compile(rf"#/task/{job.id}\?t=2.60"))

        page.on("dialog", lambda dialog: dialog.accept())
        await page.get_by_role("button", name="Extract again").click()
        await expect(page.get_by_text("Added as a new task")).to_be_visible()
        await page.get_by_role("button", name="Delete the text").click()
        await expect(page.get_by_text("The text of this task was deleted.")).to_be_visible()
        await expect(page.get_by_role("link", name="Download")).to_have_count(0)
        for name in ("Copy the text", "Delete the text"):
            await expect(page.get_by_role("button", name=name)).to_have_count(0)
        await expect(page.get_by_role("button", name="Extract again")).to_be_visible()
        await expect(page.get_by_role("heading", level=1)).to_be_focused()


async def test_lines_without_a_link_stay_in_the_field(browser: Browser, tmp_path: Path) -> None:
    async with opened(browser, tmp_path) as (page, _, _):
        field = page.get_by_label("Links")
        submit = page.get_by_role("button", name="Extract", exact=True)
        rows = page.locator("[data-task]")
        told = page.get_by_role("alert")
        await field.fill("the talk of last week\nwalk.mp4")
        await submit.click()
        await expect(told).to_contain_text("There is no link here")
        await expect(field).to_have_value("the talk of last week\nwalk.mp4")
        await expect(field).to_be_focused()
        await expect(rows).to_have_count(0)

        await field.fill(f"the talk\n{LINK}\n\nyoutu.be/abc\n  another one")
        await expect(told).to_be_hidden()
        await submit.click()
        await expect(rows).to_have_count(2)
        await expect(rows.filter(has_text="youtube")).to_have_count(1)
        await expect(field).to_have_value("the talk\n  another one")
        await expect(told).to_contain_text("2 lines have no link")
        assert not await violations(page)
        await page.get_by_role("button", name="中文").click()
        await page.get_by_label("链接", exact=True).fill("上周的讲座")
        await page.get_by_role("button", name="提取", exact=True).click()
        await expect(told).to_contain_text("没有找到链接")
        await expect(rows).to_have_count(2)


class RecognisingExtraction(ScriptedExtraction):
    """Its speech needs the recogniser, as in a real extraction."""

    async def _run_stage(self, name: str) -> None:
        if name == "asr":
            stage = self._ctx.stage(name)
            await stage.run(self._commands.get, uses={"recogniser": 1})
        else:
            await super()._run_stage(name)


async def test_a_task_that_waits_for_the_recogniser_says_so(
    browser: Browser, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(site_program, "ScriptedExtraction", RecognisingExtraction)
    async with opened(browser, tmp_path) as (page, extractor, script):
        for link in (LINK, WAITING):
            await extractor.extract.submit(input=link)
            script.done(link, 2)
            script.progress(link, 0, "reading track en")  # ended stages keep their message
            script.done(link)
            await expect(page.locator("[data-task]", has_text=link[-8:])).to_contain_text("Speech")
        waiting = page.locator("[data-task]", has_text="BV1xx")
        await expect(waiting).to_contain_text('Speech · waits for 1 of "recogniser"')
        await page.reload()
        await expect(waiting).to_contain_text('Speech · waits for 1 of "recogniser"')
        await page.get_by_role("button", name="中文").click()
        await expect(waiting).to_contain_text("语音 · 等待空闲的识别程序")
        await page.get_by_role("link", name="BV1xx").click()
        await expect(page.locator(".progress > .message")).to_have_text("语音 · 等待空闲的识别程序")
        script.done(LINK)
        await expect(page.locator(".progress > .message")).to_have_text("语音")


async def test_the_chinese_page_explains_errors_and_media(browser: Browser, tmp_path: Path) -> None:
    async with opened(browser, tmp_path, locale="zh-CN") as (page, extractor, script):
        missing = str(tmp_path / "none.mp4")
        await extractor.extract.submit(input=missing)
        script.fail(missing, Permanent("there is no file", code="not_found"))
        await extractor.extract.submit(input=SECOND)
        hint = "FAIRLANE_EXTRACT_ALLOW=10.0.0.1:80"
        script.fail(SECOND, Permanent(f"private; {hint}, allows it", code="private_address"))
        row = page.locator("[data-task]", has_text="none.mp4")
        await expect(row).to_contain_text("找不到该文件")
        await expect(row).to_contain_text("本地文件")
        await expect(page.locator("[data-task]", has_text="douyin")).to_contain_text(hint)
        await extractor.extract.submit(input=LINK, media="remove")
        script.progress(LINK, 5, "0:05 of the sound")
        await expect(page.get_by_text("声音已处理到 0:05")).to_be_visible()
        script.finish(LINK)
        await page.get_by_role("link", name="A walk").click()
        await expect(page.get_by_text("媒体已按您的选择在提取后删除")).to_be_visible()


async def test_chosen_and_dropped_files_are_uploaded_with_their_subtitles(
    browser: Browser, tmp_path: Path
) -> None:
    async with opened(browser, tmp_path / "data") as (page, extractor, script):
        files = tmp_path / "files"
        files.mkdir()
        for name in ("holiday.mp4", "holiday.en.srt", "alone.srt"):
            (files / name).write_text(name)
        for _ in range(2):  # the second gets another name, and its subtitles with it
            await page.locator("input[type=file]").set_input_files(list(files.iterdir()))
            await expect(page.get_by_text("alone.srt is a subtitle file").first).to_be_visible()
            await expect(page.locator(".uploads li")).to_have_count(0)
        rows = page.locator("[data-task]")
        await expect(rows).to_have_count(2)
        uploads = extractor.settings.uploads_folder
        stored = {path.name: path.read_text() for path in uploads.iterdir() if path.name[0] != "."}
        assert stored == {
            "holiday.mp4": "holiday.mp4", "holiday.en.srt": "holiday.en.srt",
            "holiday-1.mp4": "holiday.mp4", "holiday-1.en.srt": "holiday.en.srt",
        }  # fmt: skip
        await expect(rows.filter(has_text="holiday-1.mp4")).to_contain_text("local")
        transfer = await page.evaluate_handle(
            """() => {
                const transfer = new DataTransfer();
                transfer.items.add(new File(["sound"], "talk.mp3"));
                return transfer;
            }"""
        )
        await page.dispatch_event("body", "dragenter", {"dataTransfer": transfer})
        await expect(page.get_by_text("Drop the files to extract their text")).to_be_visible()
        await page.dispatch_event("body", "drop", {"dataTransfer": transfer})
        await expect(rows).to_have_count(3)
        third = rows.filter(has_text="talk.mp3")
        await expect(third).to_contain_text("Waiting")
        script.finish(str(uploads / "holiday.mp4"))
        await expect(third).to_contain_text("Parsing")


async def test_a_waiting_task_is_put_first(browser: Browser, tmp_path: Path) -> None:
    async with opened(browser, tmp_path, locale="zh-CN") as (page, _, _):
        links = [f"https://video.example/{n}" for n in range(5)]
        await page.get_by_label("链接", exact=True).fill("\n".join(links))
        await page.get_by_role("button", name="提取", exact=True).click()
        rows = page.locator("[data-task]")
        await expect(rows.nth(2)).to_contain_text("排队中")
        await expect(rows.nth(4)).to_contain_text("example/4")
        first = rows.nth(4).get_by_role("button", name="优先")
        await expect(first).to_have_text("优先")
        await first.click()
        await expect(rows.nth(2)).to_contain_text("example/4")
        await page.get_by_role("link", name="example/4").click()
        await expect(page.get_by_role("heading", level=1)).to_have_text("video.example/4")
        await expect(page.get_by_text("等待原因")).to_be_visible()
        await expect(page.get_by_text("队列“extract”正在运行 2 个任务")).to_be_visible()
        await page.get_by_role("button", name="取消").click()
        await expect(page.locator(".badge").first).to_have_text("已取消")
        await page.get_by_role("button", name="English").click()
        await expect(page.get_by_text("Cancelled")).to_be_visible()


async def test_it_fits_a_phone_in_the_dark(browser: Browser, tmp_path: Path) -> None:
    async with opened(
        browser, tmp_path, locale="zh-CN", viewport=PHONE, color_scheme="dark", has_touch=True
    ) as (page, extractor, script):
        script.media = kept_clip(extractor, seconds=8, captions=[(0, 8, "The river is wide here.")])
        title = "一次很长的散步：从老桥走到河边小镇，再沿着山路回来（完整版，中英字幕）"
        await extractor.extract.submit(input=LINK)
        script.finish(LINK, title=title)
        await extractor.extract.submit(input=f"{WAITING}?{'x' * 300}")
        script.progress(f"{WAITING}?{'x' * 300}", 30, "resolving")
        await expect(page.get_by_role("link", name=title)).to_be_visible()
        assert await is_as_wide_as_the_window(page)
        assert not await violations(page)
        await page.get_by_role("link", name=title).click()
        await expect(page.get_by_text(SIGN)).to_be_visible()
        assert await is_as_wide_as_the_window(page)
        assert not await violations(page)
        await page.get_by_role("button", name="切换浅色和深色").click()
        assert await page.evaluate("document.documentElement.dataset.theme") == "light"
        assert not await violations(page)
        await page.goto("./#/search?q=河边")
        await expect(page.locator("mark").first).to_be_visible()
        assert await is_as_wide_as_the_window(page)


async def test_a_user_signs_in_and_a_reader_cannot_change(browser: Browser, tmp_path: Path) -> None:
    tokens = {"token": OPERATE, "read_token": READ}
    async with opened(browser, tmp_path, tokens=tokens) as (page, extractor, script):
        await extractor.extract.submit(input=LINK)
        script.finish(LINK)
        await page.get_by_label("Token").fill(READ)
        await page.get_by_role("button", name="Sign in").click()
        await expect(page.get_by_role("link", name="A walk")).to_be_visible()
        assert not page.url.count("queue")
        await expect(page.get_by_text("Read-only access")).to_be_visible()
        await expect(page.get_by_label("Links")).to_have_count(0)
        await page.get_by_role("link", name="A walk").click()
        await expect(page.get_by_text("We crossed the old bridge.")).to_be_visible()
        for name in ("Extract again", "Delete the text"):
            await expect(page.get_by_role("button", name=name)).to_have_count(0)
        here = page.url
        await page.context.clear_cookies()
        await page.reload()
        await page.get_by_label("Token").fill(OPERATE)
        await page.get_by_role("button", name="Sign in").click()
        await page.wait_for_url(here)
        await expect(page.get_by_role("button", name="Extract again")).to_be_visible()


async def test_a_lost_connection_is_told_and_nothing_is_missed(
    browser: Browser, tmp_path: Path
) -> None:
    async with scripted(tmp_path) as (extractor, script), opened_site(browser, extractor) as page:
        sockets: list[WebSocketRoute] = []
        is_down = False

        async def relay(socket: WebSocketRoute) -> None:
            if is_down:
                await socket.close()
                return
            socket.connect_to_server()
            sockets.append(socket)

        await page.route_web_socket(re.compile("/api/ws"), relay)
        await page.goto("./")
        await expect(page.get_by_text("No tasks yet")).to_be_visible()
        is_down = True
        await sockets[0].close()
        banner = page.get_by_text("No connection. Trying again")
        await expect(banner).to_be_visible()
        heading = await page.get_by_role("heading", level=1).bounding_box()
        covering = await banner.bounding_box()
        assert heading
        assert covering
        assert covering["y"] + covering["height"] <= heading["y"]
        job = await extractor.extract.submit(input=LINK)
        script.finish(LINK)
        await extractor.app.jobs.wait(job.id)
        is_down = False
        await expect(page.get_by_role("link", name="A walk")).to_be_visible()
        await expect(page.get_by_text("No connection. Trying again")).to_be_hidden()
