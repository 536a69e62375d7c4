"""Workers and devices: their running jobs, and pausing a device."""

from playwright.async_api import Page, expect

from tests.support.console_site import Site


async def test_a_device_shows_its_job_and_is_paused(page: Page, site: Site) -> None:
    await site.app.devices.save("pixel", queue="phones", labels=["eu"])
    await page.goto("./#/workers")
    devices = page.get_by_role("list", name="Devices")
    await expect(devices.get_by_text("Accepts jobs")).to_be_visible()
    job = await site.submit("tap", name="ann")
    await expect(devices.locator(f"[data-job='{job}']")).to_be_visible()

    await page.get_by_role("button", name="Pause: pixel").click()
    await expect(devices.get_by_text("Paused: accepts no new jobs")).to_be_visible()
    assert (await site.get("/devices/pixel"))["paused"]
    await page.get_by_role("button", name="Resume: pixel").click()
    await expect(devices.get_by_text("Accepts jobs")).to_be_visible()
    site.puppets.end("ann")
    await site.reaches(job, "completed")


async def test_a_device_that_is_down_says_why(page: Page, site: Site) -> None:
    await site.app.devices.save("pixel", queue="phones", settings={"trouble": "no <b>cable"})
    await page.goto("./#/workers")
    devices = page.get_by_role("list", name="Devices")
    await expect(devices.get_by_text("Down: no <b>cable")).to_be_visible()
