"""Schedules: made, fired, paused and deleted in the page."""

import re

from playwright.async_api import Page, expect

from tests.support.console_site import Site
from tests.support.eventually import eventually


async def test_a_schedule_is_fired_and_paused(page: Page, site: Site) -> None:
    await page.goto("./#/schedules")
    await page.get_by_role("button", name="Fire now: nightly").click()

    async def has_fired() -> bool:
        jobs = (await site.get("/jobs?task=greet"))["items"]
        return [job["params"]["name"] for job in jobs] == ["night"]

    await eventually(has_fired, what="a job of the schedule")
    await page.get_by_role("button", name="Pause: nightly").click()
    await expect(page.get_by_role("button", name="Resume: nightly")).to_be_visible()
    assert (await site.get("/schedules/nightly"))["paused"]


async def test_a_schedule_is_made_and_deleted(page: Page, site: Site) -> None:
    await page.goto("./#/schedules")
    await page.get_by_role("button", name="New schedule").click()
    dialog = page.get_by_role("dialog")
    await dialog.get_by_label("Name", exact=True).fill("hourly greeting")
    await dialog.get_by_label("Task", exact=True).select_option("greet")
    await dialog.get_by_label(re.compile("^name")).fill("Ann")
    await dialog.get_by_role("textbox", name="Cron expression").fill("0 * * * *")
    await dialog.get_by_role("button", name="Save").click()
    await expect(dialog).to_have_count(0)
    made = await site.get("/schedules/hourly greeting")
    assert (made["cron"], made["params"]["name"]) == ("0 * * * *", "Ann")

    await page.get_by_role("button", name="More: hourly greeting").click()
    await page.get_by_role("menuitem", name="Delete").click()
    await page.get_by_role("dialog").get_by_role("button", name="Delete").click()
    await expect(page.get_by_text("hourly greeting", exact=True)).to_have_count(0)
