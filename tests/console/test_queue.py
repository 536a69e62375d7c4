"""The first page: running and waiting jobs, and their controls."""

from playwright.async_api import Locator, Page, expect

from fairlane import Priority
from tests.support.console_site import Site
from tests.support.eventually import eventually


def job(page: Page, id: str) -> Locator:
    return page.get_by_role("main").locator(f'[data-job="{id}"]')


async def test_progress_is_shown_as_it_is_made(page: Page, site: Site) -> None:
    id = await site.submit("play", name="ann")
    card = job(page, id)
    await expect(card).to_be_visible()
    site.puppets.progress("ann", 40, "page 2 of 5")
    await expect(card.get_by_role("progressbar")).to_have_attribute("aria-valuenow", "40")
    await expect(card).to_contain_text("page 2 of 5")
    site.puppets.progress("ann", 80, "page 4 of 5")
    await expect(card.get_by_role("progressbar")).to_have_attribute("aria-valuenow", "80")
    site.puppets.end("ann")
    await expect(card).to_contain_text("Completed")
    await expect(card.get_by_role("progressbar")).to_have_count(0)


async def test_stages_are_shown_as_steps(page: Page, site: Site) -> None:
    id = await site.submit("staged", name="ann")
    steps = job(page, id).get_by_role("listitem")
    await expect(steps).to_have_text(["first, done", "second, running"])
    await expect(job(page, id)).to_contain_text("the second has begun")


async def test_a_waiting_job_shows_why_it_waits(page: Page, site: Site) -> None:
    _, second, third = await site.line("one", "two", "three")
    await expect(job(page, second)).to_contain_text("Queue full")
    await expect(job(page, third)).to_be_visible()


async def test_dragging_moves_a_job_on_the_server(page: Page, site: Site) -> None:
    _, *waiting = await site.line("one", "two", "three", "four", "five")
    await expect(job(page, waiting[3])).to_be_visible()
    await drag(page, waiting[3], onto=waiting[0])

    async def is_moved() -> bool:
        return await site.waiting() == ["five", "two", "three", "four"]

    await eventually(is_moved, what="the move")
    rows = page.get_by_role("main").locator("[data-job]")
    await expect(rows.filter(has_text="five")).to_be_visible()

    async def is_shown() -> bool:
        tops = [(await box(page, id))["y"] for id in waiting]
        return tops[3] < tops[0] < tops[1] < tops[2]

    await eventually(is_shown, what="the new order on the page")


async def test_dragging_into_another_band_changes_the_priority(page: Page, site: Site) -> None:
    await site.line("one", "two", "three")
    high = await site.app.tasks["play"].options(priority=Priority.HIGH).submit("urgent")
    moved = (await site.get("/state"))["waiting"]["line"][-1]
    assert moved["params"]["name"] == "three"
    await expect(job(page, high.id)).to_be_visible()
    await drag(page, moved["id"], onto=high.id)

    async def is_moved() -> bool:
        return await site.waiting() == ["three", "urgent", "two"]

    await eventually(is_moved, what="the move")
    assert (await site.get(f"/jobs/{moved['id']}"))["priority"] == "high"


async def drag(page: Page, id: str, *, onto: str) -> None:
    """Take a job by its handle and drop it on the upper half of another's row."""
    await job(page, id).get_by_title("Drag").hover()
    await page.mouse.down()
    target = await box(page, onto)
    x = target["x"] + 60
    await page.mouse.move(x, target["y"] + target["height"], steps=5)
    await page.mouse.move(x, target["y"] + 4, steps=3)
    await page.mouse.up()


async def box(page: Page, id: str) -> dict[str, float]:
    found = await job(page, id).bounding_box()
    assert found is not None
    return {name: float(found[name]) for name in ("x", "y", "width", "height")}


async def test_a_job_is_started_now(page: Page, site: Site) -> None:
    first, *waiting = await site.line("one", "two", "three")
    await menu(page, waiting[1], "Start now")

    async def is_next() -> bool:
        return await site.waiting() == ["three", "two"]

    await eventually(is_next, what="three before two")
    site.puppets.end("one")
    await site.reaches(first, "completed")
    await site.reaches(waiting[1], "running")
    await expect(job(page, waiting[1]).get_by_role("progressbar")).to_be_visible()


async def menu(page: Page, id: str, choice: str) -> None:
    await job(page, id).get_by_role("button", name="Actions").click()
    await page.get_by_role("menu").get_by_role("menuitem", name=choice, exact=True).click()


async def test_a_queue_is_paused_and_resumed(page: Page, site: Site) -> None:
    await page.goto("./#/queue?queue=line")
    await page.get_by_role("button", name="Pause", exact=True).click()
    await expect(page.get_by_role("button", name="Resume", exact=True)).to_be_visible()
    assert (await site.get("/queues/line"))["paused"] == "paused"
    id = await site.submit("play", name="ann")
    await expect(job(page, id)).to_contain_text("Queue paused")
    await page.get_by_role("button", name="Resume", exact=True).click()
    await site.reaches(id, "running")
    await expect(page.get_by_role("button", name="Pause", exact=True)).to_be_visible()
    assert (await site.get("/queues/line"))["paused"] is None


async def test_a_queue_stops_after_current_jobs(page: Page, site: Site) -> None:
    await page.goto("./#/queue?queue=line")
    first, second = await site.line("one", "two")
    await page.get_by_role("button", name="line: More").click()
    await page.get_by_role("menuitem", name="Stop after current jobs").click()
    await expect(page.get_by_text("Stopping after current jobs")).to_be_visible()
    site.puppets.end("one")
    await site.reaches(first, "completed")
    await expect(job(page, first)).to_contain_text("Completed")
    assert (await site.get(f"/jobs/{second}"))["state"] == "queued"
    await expect(page.get_by_text("Stopping after current jobs")).to_be_hidden()
    await expect(page.get_by_label("line", exact=True).get_by_text("Paused")).to_be_visible()
    assert (await site.get("/queues/line"))["paused"] == "paused"


async def test_the_limit_is_changed_at_once(page: Page, site: Site) -> None:
    await page.goto("./#/queue?queue=line")
    _, second, third = await site.line("one", "two", "three")
    more = page.get_by_role("button", name="Increase the concurrency of line")
    await more.click()
    await site.reaches(second, "running")
    await more.click()
    await site.reaches(third, "running")
    assert (await site.get("/queues/line"))["settings"]["max_concurrent"] == 3
    await page.get_by_role("button", name="Reset to the declared limit").click()

    async def is_given_back() -> bool:
        queue = await site.get("/queues/line")
        return queue["settings"]["max_concurrent"] == 1 and not queue["changed_by_operator"]

    await eventually(is_given_back, what="the program's own limit")


async def test_many_are_selected_and_cancelled(page: Page, site: Site) -> None:
    _, *waiting = await site.line("one", "two", "three", "four")
    for id in waiting[:2]:
        await job(page, id).get_by_role("checkbox").check()
    await page.get_by_role("button", name="Cancel 2 jobs").click()
    await page.get_by_role("dialog").get_by_role("button", name="Cancel 2 jobs").click()
    for id in waiting[:2]:
        await site.reaches(id, "cancelled")
    assert await site.waiting() == ["four"]


async def test_a_list_of_thousands_is_scrolled_to_its_end(page: Page, site: Site) -> None:
    await site.line(*(f"job {number}" for number in range(1_000)))
    await page.goto("./#/queue?queue=line")
    rows = page.get_by_role("main").locator("[data-job]")
    await expect(rows.filter(has_text="job 1").first).to_be_visible()
    assert await rows.count() < 200, "invisible rows are not in the document"
    last = rows.filter(has_text="job 999")

    async def is_shown() -> bool:
        await rows.last.hover()
        await page.mouse.wheel(0, 20_000)
        return await last.is_visible()

    await eventually(is_shown, what="the last of a thousand")
    assert await rows.count() < 200


async def test_markup_is_shown_as_text(page: Page, site: Site) -> None:
    nasty = '<img src=x onerror="document.title=1"><b>bold</b>'
    id = await site.submit("play", name=nasty)
    site.puppets.progress(nasty, 10, nasty)
    await expect(job(page, id)).to_contain_text(nasty)
    failed = await site.submit("fail", message=nasty)
    await page.goto(f"./#/jobs/{failed}")
    await expect(page.get_by_role("main")).to_contain_text(f"ValueError: {nasty}")
    assert await page.locator("img, main b").count() == 0
    assert "Fairlane" in await page.title()
