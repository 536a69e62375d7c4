"""Language and theme: from the browser's settings, or from the user's choice."""

import re

import pytest
from playwright.async_api import Browser, Page, expect

from tests.support.browser import visiting, without_complaints
from tests.support.console_site import Site
from tests.support.eventually import eventually


async def choose(page: Page, button: str, choice: str) -> None:
    await page.get_by_role("button", name=button).click()
    await page.get_by_role("menuitemradio", name=choice, exact=True).click()


async def is_light(page: Page, wanted: bool) -> bool:
    colour = "getComputedStyle(document.documentElement).backgroundColor"
    numbers = re.findall(r"[\d.]+", await page.evaluate(colour))
    return (sum(map(float, numbers[:3])) > 3 * 128) == wanted


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
            await eventually(lambda: is_light(page, scheme == "light"), what=scheme)
            other = "Dark" if scheme == "light" else "Light"
            await choose(page, "Preferences", other)
            await eventually(lambda: is_light(page, other == "Light"), what=other)
            await page.reload()
            await expect(page.get_by_role("heading", level=1)).to_be_visible()
            await eventually(lambda: is_light(page, other == "Light"), what=other)
            await choose(page, "Preferences", "System")
            await eventually(lambda: is_light(page, scheme == "light"), what=scheme)
