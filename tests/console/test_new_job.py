"""Submitting by a form that is made from the parameters of a task."""

from typing import Any

from playwright.async_api import Page, expect

from tests.support.console_site import Site
from tests.support.eventually import eventually


async def jobs_of(site: Site, task: str) -> list[Any]:
    return list((await site.get(f"/jobs?task={task}"))["items"])


async def test_a_job_is_submitted_by_a_form(page: Page, site: Site) -> None:
    await page.get_by_role("button", name="New job").click()
    await page.get_by_label("Task", exact=True).select_option("greet")
    await expect(page.get_by_text("Greet a person, a number of times.")).to_be_visible()
    await page.get_by_label("name").fill("Ann")
    await page.get_by_label("times").fill("2")
    await page.get_by_label("mood").select_option("curt")
    await page.get_by_label("token").fill("s3cret")
    assert await page.get_by_label("token").get_attribute("type") == "password"
    await page.get_by_role("button", name="Submit", exact=True).click()
    await expect(page.get_by_text("1 job queued")).to_be_visible()
    (job,) = await jobs_of(site, "greet")
    shown = await site.reaches(job["id"], "completed")
    assert shown["result"] == "hello Ann hello Ann"
    assert shown["params"]["mood"] == "curt"
    assert "s3cret" not in str(shown)


async def test_an_invalid_value_is_reported_at_its_field(page: Page, site: Site) -> None:
    await page.goto("./#/new?task=greet")
    await page.get_by_label("name").fill("Ann")
    await page.get_by_label("times").fill("99")
    await page.get_by_role("button", name="Submit", exact=True).click()
    times = page.get_by_label("times")
    await expect(times).to_have_attribute("aria-invalid", "true")
    await expect(times).to_have_accessible_description("Input should be less than or equal to 10")
    assert await jobs_of(site, "greet") == []


async def test_many_are_submitted_by_pasting_lines(page: Page, site: Site) -> None:
    await page.goto("./#/new?task=greet")
    await page.get_by_text("Several at once").click()
    names = [f"person {number}" for number in range(12)]
    await page.get_by_label("Lines", exact=True).fill("\n".join(names))
    await page.get_by_role("button", name="Submit 12 jobs").click()
    await expect(page.get_by_text("12 jobs queued")).to_be_visible()

    async def are_there() -> bool:
        jobs = await jobs_of(site, "greet")
        return sorted(job["params"]["name"] for job in jobs) == sorted(names)

    await eventually(are_there, what="twelve jobs")


async def test_a_busy_lane_is_told_with_the_job_in_the_way(page: Page, site: Site) -> None:
    id = await site.submit("archive", handle="nasa")
    await page.goto("./#/new?task=archive")
    await page.get_by_label("handle").fill("nasa")
    await page.get_by_role("button", name="Submit", exact=True).click()
    await expect(page.get_by_role("alert")).to_contain_text("already has an active job")
    link = page.get_by_role("alert").get_by_role("link")
    assert id in (await link.get_attribute("href") or "")
