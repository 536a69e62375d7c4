"""The pages in a real browser: chart, search, live parts, rules, languages, themes, a phone, and
accessibility."""

import re
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any, Final

import pytest
import pytest_asyncio
from axe_playwright_python.async_playwright import Axe
from playwright.async_api import Browser, Page, Route, expect

from apps.dnslog.tests.query_entries import NOON, blocked, entry
from apps.dnslog.tests.rule_examples import custom, draft
from apps.dnslog.tests.test_web_log import HOSTILE, hostile_entry
from apps.dnslog.tests.web_server import served_pages
from apps.dnslog.tests.web_site import EDITOR, PASSWORD, Site, open_site
from fairlane_dnslog.rules.window import Window
from fairlane_dnslog.stand_in import stand_in
from tests.support.browser import DESKTOP, PHONE, chromium, visiting, without_complaints

pytestmark = pytest.mark.asyncio(loop_scope="module")

PAGES: Final = {
    "login": "/login",
    "overview": "/",
    "log": "/log?domain=t7.example",
    "rules": "/rules",
    "edit": "/rules/1",
    "audit": "/audit",
    "status": "/status",
}
RULES: Final = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"]
CUT_OFF: Final = """() => {
    const panel = document.querySelector("#log-rows").getBoundingClientRect();
    const cells = [...document.querySelectorAll("#log-rows td")];
    return cells.filter((cell) => cell.getBoundingClientRect().right > panel.right + 1).length;
}"""
WIDTH: Final = "document.documentElement.scrollWidth - document.documentElement.clientWidth"
# Points of ten minutes and of an hour; the first and the last may be there or not.
A_DAY: Final = re.compile("^14[3-6]$")
A_WEEK: Final = re.compile("^16[7-9]$")
IS_DRAWN: Final = """canvas => {
    const { data } = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height);
    return data.filter((value, index) => index % 4 === 3 && value > 0).length > 1000;
}"""


@dataclass
class Home:
    site: Site
    url: str
    browser: Browser

    @asynccontextmanager
    async def page(self, **options: Any) -> AsyncIterator[Page]:
        """Open a page of a person who has logged in; it must report no errors."""
        async with visiting(self.browser, base_url=self.url, **options) as context:
            await context.add_cookies([self.session()])
            page = await context.new_page()
            with without_complaints(page):
                yield page

    def session(self) -> Any:
        cookie = self.site.person().client.get_cookie("dnslog_session")
        assert cookie is not None
        return {"name": "dnslog_session", "value": cookie.value, "url": self.url}


@pytest.fixture(scope="module")
def house(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Site, str]]:
    """A day of queries, hostile names among them, and rules of several kinds."""
    folder = tmp_path_factory.mktemp("browser")
    with (
        stand_in() as server,
        open_site(folder, is_started=True, servers=(server.settings(),)) as site,
        served_pages(site.app) as url,
    ):
        second = time.time() - NOON
        site.store([entry(second - n * 300, f"host{n % 20}.example.com") for n in range(280)])
        site.store([blocked(second - n * 900, client="192.168.1.20") for n in range(90)])
        site.store([hostile_entry(n, name) for n, name in enumerate(HOSTILE.values())])
        window = Window(weekdays=("mon", "wed"), start="16:00", end="20:00")
        site.program.save_rule(
            draft("Homework", clients=("Kid's tablet",), window=window), actor="a"
        )
        site.program.save_rule(custom("Always", "||ads.example^"), actor="a")
        yield site, url


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def home(house: tuple[Site, str]) -> AsyncIterator[Home]:
    async with chromium() as browser:
        yield Home(*house, browser)


async def test_a_person_logs_in_and_sees_the_chart(home: Home) -> None:
    async with visiting(home.browser, base_url=home.url) as context:
        page = await context.new_page()
        await page.goto("/log")
        await page.get_by_label("Name").fill(EDITOR)
        await page.get_by_label("Password").fill("wrong")
        await page.get_by_role("button", name="Log in").click()
        await expect(page.get_by_role("alert")).to_have_text("The name or the password is wrong.")
        await expect(page.get_by_label("Password")).to_be_focused()
        await page.get_by_label("Password").fill(PASSWORD)
        with without_complaints(page):
            await page.get_by_role("button", name="Log in").click()
            await expect(page.get_by_role("heading", name="Log", exact=True)).to_be_visible()
            await page.get_by_role("link", name="Overview").click()
            await expect(page.locator("[data-points]")).to_have_attribute("data-points", A_DAY)
            assert await page.locator(".plot canvas").evaluate(IS_DRAWN)
            await page.locator(".u-over").hover()
            await expect(page.locator("#chart-readout")).to_contain_text("per minute")
            await page.get_by_role("link", name="7 days").click()
            await expect(page.locator("[data-points]")).to_have_attribute("data-points", A_WEEK)
            await page.get_by_role("button", name="Log out").click()
            await expect(page.get_by_role("heading", name="Log in")).to_be_visible()


async def test_a_search_has_a_short_address_and_can_be_cleared(home: Home) -> None:
    async with home.page() as page:
        await page.goto("/log")
        await page.get_by_label("Domain", exact=True).fill("host7.")
        await page.get_by_label("Domain", exact=True).press("Enter")
        await expect(page.locator("tbody tr")).to_have_count(14)
        assert page.url == f"{home.url}/log?domain=host7."
        await page.get_by_label("Result").select_option("yes")
        await page.get_by_role("button", name="Search").click()
        await expect(page.get_by_text("No query matches this filter.")).to_be_visible()
        await page.get_by_role("link", name="Clear").click()
        await expect(page.locator("tbody tr")).to_have_count(100)
        await expect(page.get_by_label("To", exact=True)).to_be_hidden()
        await page.get_by_label("Time range").select_option("between")
        await page.get_by_label("To", exact=True).fill("2001-01-01T00:00")
        await page.get_by_role("button", name="Search").click()
        await expect(page.get_by_text("No query matches this filter.")).to_be_visible()
        await page.get_by_label("Time range").select_option("day")
        await page.get_by_role("button", name="Search").click()
        await expect(page.locator("tbody tr")).to_have_count(100)
        assert page.url == f"{home.url}/log?range=day"
        await page.get_by_role("link", name="Older").click()
        await expect(page.get_by_role("link", name="Newest")).to_be_visible()
        async with page.expect_download() as download:
            await page.get_by_role("link", name="CSV").click()
        name = (await download.value).suggested_filename
        assert re.fullmatch(r"dns-log-\d{4}-\d\d-\d\d\.csv", name)


@pytest.mark.parametrize("width", [1280, 390])
async def test_the_head_of_the_week_is_one_row_and_labels_end_with_an_ellipsis(
    home: Home, width: int
) -> None:
    async with home.page(viewport={"width": width, "height": 844}) as page:
        await page.goto("/rules?week=2026-W47")
        title = await page.locator("#week-title").bounding_box()
        arrow = await page.get_by_role("link", name="Week after").bounding_box()
        assert title is not None
        assert arrow is not None
        assert abs(arrow["y"] - title["y"]) < 10
        assert arrow["x"] >= title["x"] + title["width"]
        label = page.locator(".stretch .label").first
        await expect(label).to_have_css("text-overflow", "ellipsis")
        bar = page.locator(".stretch:has(.label)").first
        wide = await label.evaluate("label => label.getBoundingClientRect().width")
        room = await bar.evaluate("bar => bar.querySelector('rect').getBoundingClientRect().width")
        assert wide <= room + 1, "the label ends with its bar"


@pytest.mark.parametrize("size", [DESKTOP, PHONE], ids=["desktop", "phone"])
async def test_the_words_of_the_preferences_stay_on_one_line(home: Home, size: Any) -> None:
    async with home.page(viewport=size) as page:
        await page.goto("/")
        await page.locator("summary[aria-label=Preferences]").click()
        await expect(page.get_by_role("link", name="System")).to_be_visible()
        menu = await page.locator(".menu-list").bounding_box()
        assert menu is not None
        assert menu["x"] >= 0
        assert menu["x"] + menu["width"] <= size["width"]
        heights = await page.locator(".menu-list a").evaluate_all(
            "links => links.map((link) => link.firstChild)"
            ".map((word) => { const range = document.createRange(); range.selectNode(word);"
            " return range.getClientRects().length; })"
        )
        assert heights == [1] * 5


async def test_live_rows_appear_by_themselves(home: Home) -> None:
    async with home.page() as page:
        await page.clock.install()
        await page.goto("/log?domain=live.example&live=1")
        await expect(page.get_by_text("No query matches this filter.")).to_be_visible()
        home.site.store([entry(time.time() - NOON, "now.live.example")])
        await page.clock.run_for(5_500)
        await expect(page.get_by_role("link", name="now.live.example")).to_be_visible()


async def test_a_live_page_reports_a_lost_server_until_it_is_back(home: Home) -> None:
    async def lose(route: Route) -> None:
        await route.abort()

    async with visiting(home.browser, base_url=home.url) as context:
        await context.add_cookies([home.session()])
        page = await context.new_page()
        await page.clock.install()
        await page.goto("/log?live=1")
        await page.route("**/log**", lose)
        await page.clock.run_for(5_500)
        await expect(page.get_by_text("the page is not up to date")).to_be_visible()
        await page.unroute_all()
        await page.clock.run_for(5_500)
        await expect(page.locator("#lost")).to_have_text("")


async def test_a_rule_is_made_from_a_preset_and_is_in_the_week(home: Home) -> None:
    async with home.page() as page:
        await page.goto("/rules")
        await page.get_by_role("link", name="No AI services on school days").click()
        await expect(page.get_by_role("checkbox", name="ChatGPT")).to_be_checked()
        await page.get_by_label("Name").fill("Quiet afternoon")
        await page.locator("[data-add-client='192.168.1.10']").click()
        await expect(page.get_by_label("Only for these clients")).to_have_value("192.168.1.10")
        await page.get_by_label("From", exact=True).fill("4 pm")
        await page.get_by_role("radio", name="Always").check()
        await expect(page.get_by_label("From", exact=True)).to_be_hidden()
        await page.get_by_role("button", name="Save").click()
        await expect(page.get_by_text("“Quiet afternoon” is saved")).to_be_visible()
        await page.get_by_role("link", name="Edit Quiet afternoon").click()
        await page.get_by_role("radio", name="Every week").check()
        await page.get_by_label("From", exact=True).fill("15:00")
        await page.get_by_label("To", exact=True).fill("17:00")
        await page.get_by_role("button", name="Save").click()
        week = page.get_by_role("img", name=re.compile("day: .*Quiet afternoon 15:00–17:00"))
        await expect(week).to_have_count(7)
        await page.get_by_role("button", name="Disable Quiet afternoon").click()
        await expect(week).to_have_count(0)
        await page.get_by_role("link", name="Delete Quiet afternoon").click()
        await page.get_by_role("button", name="Delete").click()
        await expect(page.get_by_role("heading", name="Quiet afternoon")).to_have_count(0)


async def test_the_language_and_the_theme_are_chosen_in_a_menu(home: Home) -> None:
    async with home.page() as page:
        await page.goto("/rules")
        light = await page.evaluate("getComputedStyle(document.body.parentElement).backgroundColor")
        await page.get_by_label("Preferences").click()
        await page.get_by_role("link", name="Dark").click()
        dark = await page.evaluate("getComputedStyle(document.body.parentElement).backgroundColor")
        assert (light, dark) == ("rgb(246, 247, 249)", "rgb(15, 18, 22)")
        await page.get_by_label("Preferences").click()
        await page.get_by_role("link", name="中文").click()
        await expect(page.get_by_role("heading", name="规则", exact=True)).to_be_visible()
        await page.get_by_label("偏好设置").click()
        await expect(page.get_by_role("link", name="English")).to_be_visible()
        await page.keyboard.press("Escape")
        await expect(page.get_by_role("link", name="English")).to_be_hidden()
        await page.goto("/")
        await expect(page.locator("html")).to_have_attribute("data-theme", "dark")


@pytest.mark.parametrize(
    ("locale", "names"), [("en-GB", tuple(PAGES)), ("zh-CN", ("log", "rules"))], ids=["en", "zh"]
)
async def test_no_page_is_wider_than_a_phone(
    home: Home, locale: str, names: tuple[str, ...]
) -> None:
    wide = {}
    async with home.page(viewport=PHONE, locale=locale) as page:
        for name in names:
            await page.goto(PAGES[name])
            wide[name] = await page.evaluate(WIDTH)
    assert {name: pixels for name, pixels in wide.items() if pixels > 0} == {}


async def test_hostile_names_do_not_push_columns_out_of_the_log(home: Home) -> None:
    async with home.page() as page:
        await page.goto("/log?range=hour")
        assert await page.locator("tbody tr").count() > len(HOSTILE)
        assert await page.evaluate(CUT_OFF) == 0
        await page.set_viewport_size({"width": PHONE["width"], "height": PHONE["height"]})
        assert await page.evaluate(CUT_OFF) == 0


@pytest.mark.parametrize(
    ("theme", "size", "names"),
    [
        ("light", DESKTOP, ("login", "overview", "edit", "audit")),
        ("dark", DESKTOP, ("rules", "status")),
        ("light", PHONE, ("log",)),
    ],
    ids=["light", "dark", "phone"],
)
async def test_no_page_has_a_violation_of_accessibility(
    home: Home, theme: str, size: dict[str, int], names: tuple[str, ...]
) -> None:
    found = []
    async with visiting(
        home.browser, base_url=home.url, color_scheme=theme, viewport=size
    ) as context:
        page = await context.new_page()
        for name in names:
            if name != "login":
                await context.add_cookies([home.session()])
            await page.goto(PAGES[name])
            found += [f"{name}: {one}" for one in await violations(page)]
    assert not found, "\n".join(found)


async def violations(page: Page) -> list[str]:
    options: Any = {"resultTypes": ["violations"], "runOnly": RULES}
    seen: Any = {"exclude": [["datalist"]]}  # hundreds of time zones, of which none is visible
    found = (await Axe().run(page, context=seen, options=options)).response["violations"]
    return [
        f"{one['id']} at {len(one['nodes'])}: {one['nodes'][0]['html'][:200]} "
        f"{one['nodes'][0]['failureSummary'][:300]}"
        for one in found
    ]
