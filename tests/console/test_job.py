"""The page of one job: its data and its actions."""

import re

import pytest
from playwright.async_api import Page, expect

from tests.support.browser import in_chinese
from tests.support.console_site import Site
from tests.support.eventually import eventually


@pytest.mark.parametrize(("choice", "is_kept"), [("Keep", True), ("Delete", False)])
async def test_a_cancelled_job_keeps_or_deletes_its_files(
    page: Page, site: Site, choice: str, is_kept: bool
) -> None:
    id = await site.submit("write", name="ann")
    written = site.folder / "ann.txt"
    await eventually(written.exists, what="the file")
    await page.goto(f"./#/jobs/{id}")
    await page.get_by_role("button", name="Cancel", exact=True).click()
    dialog = page.get_by_role("dialog")
    await dialog.get_by_role("radio", name=choice).check()
    await dialog.get_by_role("button", name="Cancel job").click()
    await site.reaches(id, "cancelled")
    await expect(page.get_by_role("main")).to_contain_text("Cancelled")
    await eventually(lambda: written.exists() == is_kept, what="the file as wished")


async def test_a_failed_job_is_retried(page: Page, site: Site) -> None:
    site.puppets.fail("ann", ValueError("no such file"))
    id = await site.submit("play", name="ann")
    await site.reaches(id, "failed")
    await page.goto(f"./#/jobs/{id}")
    main = page.get_by_role("main")
    await expect(main).to_contain_text("no such file")
    await expect(main.get_by_text("Traceback (most recent call last)")).to_be_hidden()
    await main.get_by_text("Traceback", exact=True).click()
    await expect(main.get_by_text("Traceback (most recent call last)")).to_be_visible()
    await main.get_by_role("button", name="Retry").first.click()
    await site.reaches(id, "running")
    await expect(main.get_by_text("Running").first).to_be_visible()
    site.puppets.end("ann")
    await expect(main.get_by_text("Completed").first).to_be_visible()
    assert (await site.get(f"/jobs/{id}"))["attempt"] == 2


async def test_a_log_grows_as_it_is_written(page: Page, site: Site) -> None:
    id = await site.submit("play", name="ann")
    await page.goto(f"./#/jobs/{id}")
    main = page.get_by_role("main")
    site.puppets.log("ann", "line 1", "line 2")
    await expect(main.get_by_text("line 2")).to_be_visible()
    site.puppets.log("ann", *(f"line {number}" for number in range(3, 60)))
    await expect(main.get_by_text("line 59")).to_be_visible()


async def test_a_waiting_job_shows_its_reasons(page: Page, site: Site) -> None:
    _, second = await site.line("one", "two")
    await page.goto(f"./#/jobs/{second}")
    await expect(page.get_by_role("main")).to_contain_text('queue "line" runs 1 of 1')


async def test_a_job_that_is_not_there_is_said_not_to_be(page: Page, site: Site) -> None:
    await page.goto("./#/jobs/nothing-like-it")
    await expect(page.get_by_role("main")).to_contain_text("Job not found")


async def test_a_shortage_of_disk_space_and_a_taken_output_are_told_in_the_language_of_the_page(
    page: Page, site: Site
) -> None:
    blocked = await site.submit("store", name="huge", size=9 * 10**14)
    await site.reaches(blocked, "blocked")
    await page.goto(f"./#/jobs/{blocked}")
    needed = re.compile(r"900 TB needed in .*: .* too little")
    await expect(page.get_by_text(needed)).to_be_visible()
    await in_chinese(page)
    await expect(page.get_by_text(re.compile("需要 .*，可用 .*：还差"))).to_be_visible()

    (site.folder / "old.bin").write_bytes(b"")
    skipped = await site.submit("store", name="old")
    await site.reaches(skipped, "skipped")
    await page.goto("./#/history")
    await expect(page.locator(f"[data-job='{skipped}']")).to_contain_text(
        re.compile(r"已存在：.*old\.bin")
    )
