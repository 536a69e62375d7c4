"""Statistics of ended jobs."""

from playwright.async_api import Page, expect

from tests.support.console_site import Site


async def saved(site: Site, name: str, **numbers: float) -> None:
    id = await site.submit("play", name=name)
    site.puppets.report(name, **numbers)
    site.puppets.end(name)
    await site.reaches(id, "completed")


async def test_statistics_of_jobs_are_summed(page: Page, site: Site) -> None:
    await saved(site, "one", saved_bytes=1_500_000, files=3)
    await saved(site, "two", saved_bytes=2_000_000, files=4)
    await page.goto("./#/insights")
    figure = page.get_by_role("figure", name="Reported by jobs per minute")
    await expect(figure.get_by_label("Statistic")).to_have_value("saved_bytes")
    await expect(figure.get_by_role("listitem").filter(has_text="Total")).to_contain_text("3.5 MB")

    await saved(site, "three", saved_bytes=500_000, files=1)  # while one looks
    await expect(figure.get_by_role("listitem").filter(has_text="Total")).to_contain_text("4.0 MB")
    await figure.get_by_label("Statistic").select_option("files")
    await expect(figure.get_by_role("listitem").filter(has_text="Total")).to_contain_text("8")
    assert "stat=files" in page.url
    await figure.get_by_text("Show as table").click()
    await expect(figure.get_by_role("row").nth(1).get_by_role("cell").nth(1)).to_have_text("8")


async def test_without_statistics_no_plot_is_drawn(page: Page, site: Site) -> None:
    await saved(site, "one")
    await page.goto("./#/insights")
    await page.get_by_role("figure", name="Ended per minute").wait_for()
    await expect(page.get_by_label("Statistic")).to_have_count(0)


async def test_the_limit_of_an_unlimited_queue_is_infinite_until_it_is_moved(
    page: Page, site: Site
) -> None:
    await saved(site, "one")
    await page.goto("./#/insights?queue=phones")
    slider = page.get_by_role("slider")
    shown = page.locator("output")
    await expect(shown).to_have_text("∞")
    await slider.press("ArrowRight")
    await expect(shown).to_have_text("2")
