"""Ended jobs: search, shared addresses, reruns, and the forecast from their durations."""

from playwright.async_api import Page, expect

from tests.support.console_site import Site
from tests.support.eventually import eventually


async def some_past(site: Site) -> tuple[str, str]:
    failed = await site.submit("fail", message="no such comet")
    done = await site.submit("greet", name="Ann")
    await site.reaches(failed, "failed")
    await site.reaches(done, "completed")
    return failed, done


async def test_the_address_holds_filters_and_search(page: Page, site: Site) -> None:
    failed, done = await some_past(site)
    await page.goto("./#/history")
    rows = page.get_by_role("main").locator("[data-job]")
    await expect(rows).to_have_count(2)
    await page.get_by_role("searchbox").fill("comet")
    await expect(rows).to_have_count(1)
    await expect(rows).to_have_attribute("data-job", failed)
    address = page.url
    assert "q=comet" in address

    await page.goto("./#/history?state=completed")
    await expect(rows).to_have_count(1)
    await expect(rows).to_have_attribute("data-job", done)
    await page.goto(address)
    await page.reload()
    await expect(rows).to_have_attribute("data-job", failed)
    await expect(page.get_by_role("searchbox")).to_have_value("comet")


async def test_a_job_that_ends_appears_in_the_open_history(page: Page, site: Site) -> None:
    await page.goto("./#/history")
    failed, done = await some_past(site)
    for id in (failed, done):
        await expect(page.locator(f'[data-job="{id}"]')).to_be_visible()


async def test_a_forecast_with_another_limit_is_shown_and_the_limit_is_set(
    page: Page, site: Site
) -> None:
    site.puppets.end("learnt from")
    learnt = await site.submit("play", name="learnt from")
    await site.reaches(learnt, "completed")
    await site.line(*(f"job {number}" for number in range(8)))
    await page.goto("./#/insights?queue=line")
    slider = page.get_by_role("slider", name="Concurrency of line")
    await expect(slider).to_have_value("1")
    await slider.press("ArrowRight")
    await slider.press("ArrowRight")
    await expect(page.get_by_text("With a limit of 3, the queue is empty at")).to_be_visible()
    await expect(page.locator("canvas").first).to_be_visible()
    await page.get_by_role("button", name="Set the limit to 3").click()

    async def is_set() -> bool:
        return bool((await site.get("/queues/line"))["settings"]["max_concurrent"] == 3)

    await eventually(is_set, what="the limit")
