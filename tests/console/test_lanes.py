"""Lanes: their parameters, Continue, and the lock of an active job."""

from typing import Any

from playwright.async_api import Locator, Page, expect

from tests.support.console_site import Site
from tests.support.eventually import eventually


def button(page: Page, action: str, lane: str) -> Locator:
    return page.get_by_role("button", name=f"{action}: {lane}", exact=True)


async def save(site: Site, lane: str, **params: Any) -> None:
    call = site.app.tasks["archive"].call(handle=lane, **params)
    await site.app.lanes.save("archive", lane, call)


async def params_of(site: Site, lane: str) -> Any:
    saved = (await site.get(f"/lanes/archive?lane={lane}"))["params"]
    return saved and saved["params"]


async def test_a_lane_with_an_active_job_is_locked_and_names_the_job(
    page: Page, site: Site
) -> None:
    await save(site, "nasa", posts=20)
    await page.goto("./#/lanes")
    await button(page, "Start", "nasa").click()
    row = page.locator('[data-job*="nasa"]')
    await expect(row).to_contain_text("Locked by archive")
    for action in ("Start", "Continue", "Edit parameters", "Paste parameters"):
        await expect(button(page, action, "nasa")).to_be_disabled()
    state = await site.get("/state")
    (job,) = state["running"]
    link = row.get_by_role("link", name="archive", exact=True)
    await expect(link).to_have_attribute("href", f"#/jobs/{job['id']}")

    site.puppets.end("nasa")
    await site.reaches(job["id"], "completed")
    await expect(row).not_to_contain_text("Locked")
    await expect(button(page, "Start", "nasa")).to_be_enabled()


async def test_a_lane_goes_on_where_it_stopped(page: Page, site: Site) -> None:
    await save(site, "nasa")
    await page.goto("./#/lanes")
    await expect(button(page, "Continue", "nasa")).to_be_disabled()
    site.puppets.end("nasa")
    await button(page, "Start", "nasa").click()
    await expect(button(page, "Continue", "nasa")).to_be_enabled()
    await button(page, "Continue", "nasa").click()
    await expect(page.locator('[data-job*="nasa"]')).to_contain_text("Locked by")
    for action in ("Start", "Continue", "Edit parameters", "Copy parameters", "Paste parameters"):
        await expect(button(page, action, "nasa")).to_be_disabled()
    (job,) = (await site.get("/state"))["running"]
    assert job["kind"] == "continue"

    await button(page, "Cancel", "nasa").click()
    dialog = page.get_by_role("dialog")
    await dialog.get_by_role("button", name="Cancel job").click()
    await site.reaches(job["id"], "cancelled")
    await expect(page.locator('[data-job*="nasa"]')).to_contain_text("Cancelled")


async def test_parameters_are_copied_from_row_to_row(page: Page, site: Site) -> None:
    await save(site, "nasa", posts=77)
    await save(site, "esa", posts=5)
    await page.goto("./#/lanes")
    await expect(button(page, "Paste parameters", "esa")).to_be_disabled()
    await button(page, "Copy parameters", "nasa").click()
    await button(page, "Paste parameters", "esa").click()

    async def are_pasted() -> bool:
        return bool(await params_of(site, "esa") == {"handle": "esa", "posts": 77})

    await eventually(are_pasted, what="the parameters of nasa, with the handle of esa")
    assert await params_of(site, "nasa") == {"handle": "nasa", "posts": 77}
    await expect(page.locator('[data-job*="esa"]')).to_contain_text("77")


async def test_parameters_are_changed_and_refused_in_the_servers_words(
    page: Page, site: Site
) -> None:
    await save(site, "nasa", posts=5)
    await page.goto("./#/lanes")
    await button(page, "Edit parameters", "nasa").click()
    dialog = page.get_by_role("dialog")
    posts = dialog.get_by_label("posts")
    await posts.fill("5000")
    await dialog.get_by_role("button", name="Save").click()
    await expect(posts).to_have_accessible_description("Input should be less than or equal to 500")
    await posts.fill("50")
    await dialog.get_by_role("button", name="Save").click()
    await expect(dialog).to_have_count(0)
    assert await params_of(site, "nasa") == {"handle": "nasa", "posts": 50}


async def test_a_row_shows_the_end_of_a_long_name_and_its_statistics(
    page: Page, site: Site
) -> None:
    name = "http://127.0.0.1:40213/users/of/a/very/long/address/@slow1"
    await save(site, name)
    await page.goto("./#/lanes")
    link = page.get_by_role("link", name=name, exact=True)
    await expect(link).to_have_attribute("title", name)
    tail = await link.get_by_text("ress/@slow1").last.bounding_box()
    box = await link.bounding_box()
    assert tail is not None
    assert box is not None
    assert box["x"] < tail["x"]
    assert tail["x"] + tail["width"] <= box["x"] + box["width"] + 1
    row = page.locator('[data-job*="slow1"]')
    await expect(row).to_contain_text("Default parameters")

    site.puppets.report(name, downloaded=3, failed=0, bytes=4_200_000)
    await button(page, "Start", name).click()
    await expect(row).to_contain_text("downloaded 3 · 4.2 MB")
    site.puppets.end(name)
    await expect(row).to_contain_text("Completed")
    await page.goto("./#/queue")
    await expect(page.get_by_role("link", name=f"archive {name}")).to_be_visible()
