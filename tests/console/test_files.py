"""Files: sent by a form or by dropping them on the queue, and fetched from the page of a job."""

from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

import pytest_asyncio
from playwright.async_api import Browser, Page, expect

from fairlane import File
from tests.support.browser import visiting, without_complaints
from tests.support.console_program import program
from tests.support.console_site import Site
from tests.support.followers import served
from tests.support.puppets import Puppets


@pytest_asyncio.fixture(loop_scope="session")
async def site(tmp_path: Path) -> AsyncIterator[Site]:
    """A site with tasks that take a file."""
    puppets = Puppets()
    app = program(f"sqlite:///{tmp_path}/work.db", puppets, tmp_path)

    @app.task(queue="line")
    def measure(file: File, times: int = 1) -> int:
        """Tell how long a file is."""
        return Path(file).stat().st_size * times

    @app.task
    def join(first: File, others: list[File]) -> int:
        """Tell how long some files are together."""
        return sum(Path(file).stat().st_size for file in (first, *others))

    async with app, served(app) as url:
        found = Site(app, url, puppets, tmp_path)
        async with found.api:
            yield found


async def jobs_of(site: Site, task: str) -> list[Any]:
    return list(reversed((await site.get(f"/jobs?task={task}"))["items"]))


def file(name: str, content: str = "abc") -> Any:
    return {"name": name, "mimeType": "text/plain", "buffer": content.encode()}


async def test_a_form_sends_a_file_and_fills_its_path_in(page: Page, site: Site) -> None:
    await page.goto("./#/new?task=measure")
    zone = page.get_by_role("group", name="Send a file for file")
    async with page.expect_file_chooser() as chooser:
        await zone.get_by_role("button", name="Choose a file").click()
    await (await chooser.value).set_files(file("片 1.mp4", "x" * 1000))
    path = str(site.folder / "uploads" / "片 1.mp4")
    await expect(page.get_by_label("file", exact=True)).to_have_value(path)
    await page.get_by_role("button", name="Submit", exact=True).click()
    await expect(page.get_by_text("1 job queued")).to_be_visible()
    [job] = await jobs_of(site, "measure")
    assert (await site.reaches(job["id"], "completed"))["result"] == 1000


async def test_a_list_of_files_gets_one_more_with_each(page: Page, site: Site) -> None:
    await page.goto("./#/new?task=join")
    zone = page.get_by_role("group", name="Send a file for others")
    await zone.locator("input").set_input_files([file("a.txt"), file("b.txt")])
    uploads = site.folder / "uploads"
    others = page.get_by_label("others", exact=True)
    await expect(others).to_have_value(f"{uploads}/a.txt\n{uploads}/b.txt")


async def test_a_full_disk_is_told_where_the_file_was_sent(page: Page, site: Site) -> None:
    await page.goto("./#/new?task=measure")
    zone = page.get_by_role("group", name="Send a file for file")
    await zone.wait_for()
    site.app._uploads.folder = Path("/proc/full")  # type: ignore[union-attr]
    await zone.locator("input").set_input_files(file("a.txt"))
    await expect(zone.get_by_role("alert")).to_contain_text("0 bytes is free")
    await expect(page.get_by_label("file", exact=True)).to_have_value("")


async def test_what_a_job_made_is_downloaded(page: Page, site: Site) -> None:
    id = await site.submit("write", name="report")
    site.puppets.end("report")
    await site.reaches(id, "completed")
    await page.goto(f"./#/jobs/{id}")
    link = page.get_by_role("link", name="Download report.txt")
    async with page.expect_download() as download:
        await link.click()
    assert (await download.value).suggested_filename == "report.txt"
    assert Path(await (await download.value).path()).read_text() == "report"
    (site.folder / "report.txt").unlink()
    await link.click()
    await expect(page.get_by_role("alert")).to_contain_text("is no longer there")


async def test_a_reader_may_fetch_and_not_send(browser: Browser, site: Site) -> None:
    id = await site.submit("write", name="report")
    site.puppets.end("report")
    await site.reaches(id, "completed")
    tokens: Any = {"token": "may-operate-1", "read_token": "may-read-only-1"}
    async with AsyncExitStack() as stack:
        url = await stack.enter_async_context(served(site.app, **tokens))
        context = await stack.enter_async_context(visiting(browser, base_url=f"{url}/"))
        page = await context.new_page()
        stack.enter_context(without_complaints(page))
        await page.goto("./#/new?task=measure")
        await page.get_by_label("Token").fill("may-read-only-1")
        await page.get_by_role("button", name="Sign in").click()
        await expect(page.get_by_role("button", name="Choose a file")).to_be_disabled()
        await page.goto(f"./#/jobs/{id}")
        async with page.expect_download() as download:
            await page.get_by_role("link", name="Download report.txt").click()
        assert Path(await (await download.value).path()).read_text() == "report"
