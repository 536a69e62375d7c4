"""Workers and devices: their running jobs, and pausing a device."""

from playwright.async_api import Page, expect

from tests.support.browser import in_chinese
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


async def test_a_paused_device_that_is_down_can_be_resumed(page: Page, site: Site) -> None:
    await site.app.devices.save("pixel", queue="phones", settings={"trouble": "no cable"})
    await site.app.devices.change("pixel", paused=True)
    await page.goto("./#/workers")
    devices = page.get_by_role("list", name="Devices")
    await expect(devices.get_by_text("Paused, and down: no cable")).to_be_visible()
    await page.get_by_role("button", name="Resume: pixel").click()
    await expect(devices.get_by_text("Down: no cable", exact=True)).to_be_visible()
    assert not (await site.get("/devices/pixel"))["paused"]


async def test_a_stored_device_that_no_process_drives_is_shown_with_that_reason(
    page: Page, site: Site
) -> None:
    record = '{"queue":"tablets","labels":["eu"],"settings":{},"paused":false}'
    await site.app._commands.change_record("device", "slate", lambda _: record)
    await page.goto("./#/workers")
    devices = page.get_by_role("list", name="Devices")
    reason = "Down: no running program has a driver for queue tablets"
    await expect(devices.get_by_text(reason)).to_be_visible()
    await in_chinese(page)
    await expect(page.get_by_text("没有运行中的程序能驱动队列 tablets 的设备")).to_be_visible()
