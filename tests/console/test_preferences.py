"""Language and theme: as the browser asks for, or as somebody chose."""

import pytest
from playwright.async_api import Browser, Page, expect

from tests.support.browser import visiting, without_complaints
from tests.support.console_site import Site


async def choose(page: Page, button: str, choice: str) -> None:
    await page.get_by_role("button", name=button).click()
    await page.get_by_role("menuitemradio", name=choice, exact=True).click()


async def background(page: Page) -> int:
    """Return how bright the page is, from 0 to 255."""
    colour = "getComputedStyle(document.body).backgroundColor.match(/[\\d.]+/g).map(Number)"
    return int(sum((await page.evaluate(colour))[:3]) / 3)


async def test_it_speaks_the_browsers_language_and_another_one_if_asked(
    browser: Browser, site: Site
) -> None:
    async with visiting(browser, base_url=f"{site.url}/", locale="zh-CN") as context:
        page = await context.new_page()
        with without_complaints(page):
            await page.goto("./")
            await expect(page.get_by_role("heading", level=1)).to_have_text("队列")
            assert await page.get_attribute("html", "lang") == "zh-CN"
            await choose(page, "偏好设置", "English")
            await expect(page.get_by_role("heading", level=1)).to_have_text("Queue")
            await page.reload()
            await expect(page.get_by_role("heading", level=1)).to_have_text("Queue")
            assert await page.get_attribute("html", "lang") == "en-GB"


@pytest.mark.parametrize("scheme", ["light", "dark"])
async def test_it_is_light_or_dark_as_the_browser_is_or_as_chosen(
    browser: Browser, site: Site, scheme: str
) -> None:
    async with visiting(browser, base_url=f"{site.url}/", color_scheme=scheme) as context:
        page = await context.new_page()
        with without_complaints(page):
            await page.goto("./")
            await expect(page.get_by_role("heading", level=1)).to_be_visible()
            assert (await background(page) > 128) == (scheme == "light")
            other = "Dark" if scheme == "light" else "Light"
            await choose(page, "Preferences", other)
            assert (await background(page) > 128) == (other == "Light")
            await page.reload()
            await expect(page.get_by_role("heading", level=1)).to_be_visible()
            assert (await background(page) > 128) == (other == "Light")
            await choose(page, "Preferences", "As the system")
            assert (await background(page) > 128) == (scheme == "light")
