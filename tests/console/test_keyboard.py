"""All actions by keyboard."""

from playwright.async_api import Page, expect

from tests.support.console_site import Site
from tests.support.eventually import eventually


async def focused(page: Page) -> str | None:
    found = "document.activeElement?.closest('[data-job]')?.dataset.job ?? null"
    job: str | None = await page.evaluate(found)
    return job


async def shown(page: Page) -> list[str]:
    """Return the jobs of the page from top to bottom, as `j` and `k` go through them."""
    found = "[...new Set([...document.querySelectorAll('[data-job]')].map(e => e.dataset.job))]"
    jobs: list[str] = await page.evaluate(found)
    return jobs


async def test_a_queue_is_steered_by_keys_alone(page: Page, site: Site) -> None:
    await page.goto("./#/queue?queue=line")
    first, second, third = await site.line("one", "two", "three")
    await expect(page.locator(f'[data-job="{third}"]')).to_be_visible()
    for id in (first, second, third):
        await page.keyboard.press("j")
        assert await focused(page) == id
    await page.keyboard.press("Alt+ArrowUp")

    async def is_moved() -> bool:
        return await site.waiting() == ["three", "two"]

    async def is_shown() -> bool:
        return await shown(page) == [first, third, second]

    await eventually(is_moved, what="the move")
    await eventually(is_shown, what="the page to show it")
    await eventually(lambda: focused_is(page, third), what="the focus on the moved job")
    await page.keyboard.press("k")
    assert await focused(page) == first
    await page.keyboard.press("j")
    await page.keyboard.press("Enter")
    await expect(page).to_have_url(f"{site.url}/#/jobs/{third}")
    await page.go_back()

    await expect(page.locator(f'[data-job="{second}"]')).to_be_visible()
    await page.keyboard.press("p")

    async def is_paused() -> bool:
        return bool((await site.get("/queues/line"))["paused"] == "paused")

    await eventually(is_paused, what="the pause")


async def focused_is(page: Page, job: str) -> bool:
    return await focused(page) == job


async def test_jobs_are_selected_and_cancelled_by_keys(page: Page, site: Site) -> None:
    await page.goto("./#/queue?queue=line")
    _, second, third = await site.line("one", "two", "three")
    await expect(page.locator(f'[data-job="{third}"]')).to_be_visible()
    for key in ("j", "j", "x", "j", "x", "c"):
        await page.keyboard.press(key)
    dialog = page.get_by_role("dialog")
    await expect(dialog).to_be_visible()
    await expect(dialog.get_by_role("heading")).to_have_text("Cancel 2 jobs?")
    while not await page.evaluate("document.activeElement.textContent.includes('Cancel 2 jobs')"):
        await page.keyboard.press("Tab")
    await page.keyboard.press("Enter")
    await site.reaches(second, "cancelled")
    await site.reaches(third, "cancelled")


async def test_pages_search_and_help_are_a_key_away(page: Page) -> None:
    await expect(page.get_by_role("heading", level=1)).to_have_text("Queue")
    for key, title in (("l", "Lanes"), ("s", "Schedules"), ("w", "Workers"), ("h", "History"),
                       ("i", "Insights"), ("q", "Queue")):  # fmt: skip
        await page.keyboard.press("g")
        await page.keyboard.press(key)
        await expect(page.get_by_role("heading", level=1)).to_have_text(title)
    await page.keyboard.press("/")
    await expect(page.get_by_role("searchbox")).to_be_focused()
    await page.keyboard.type("xyz?")
    await expect(page.get_by_role("searchbox")).to_have_value("xyz?")
    await page.keyboard.press("Escape")
    await page.keyboard.press("?")
    await expect(page.get_by_role("dialog")).to_contain_text("Keyboard shortcuts")
    await page.keyboard.press("Escape")
    await expect(page.get_by_role("dialog")).to_have_count(0)


async def test_the_first_stop_leads_past_the_navigation(page: Page) -> None:
    await expect(page.get_by_role("heading", level=1)).to_be_visible()
    await page.keyboard.press("Tab")
    await expect(page.get_by_role("link", name="Skip to content")).to_be_focused()
    await page.keyboard.press("Enter")
    assert await page.evaluate("document.activeElement.closest('main') !== null")
