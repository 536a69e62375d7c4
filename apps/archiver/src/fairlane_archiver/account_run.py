"""One run of one account: save the wanted files, page by page.

The cursor advances when all files of a page are settled, so that a continue misses none; the index
skips the files of an unsettled page that are saved already. A complete pass stores the id of its
newest post, and the next continue reads only newer posts.
"""

import asyncio
from collections import deque
from collections.abc import Sequence
from contextlib import aclosing
from typing import Final

import msgspec

from fairlane import Context
from fairlane_archiver.account_folder import AccountFolder
from fairlane_archiver.downloads import CompleteFile, Download
from fairlane_archiver.errors import FileError, UnwantedFile
from fairlane_archiver.file_placement import FilePlacement
from fairlane_archiver.filters import Filters
from fairlane_archiver.index import Index, Item
from fairlane_archiver.posts import Page, Post
from fairlane_archiver.request_pace import LongPause
from fairlane_archiver.run_counts import RunCounts
from fairlane_archiver.settings import Settings
from fairlane_archiver.sources.protocol import Source, Tools
from fairlane_archiver.threads import in_thread
from fairlane_archiver.web_client import WebClient

REPORT_SECONDS: Final = 0.25
WAITED_SECONDS: Final = 6 * 3_600.0  # longest wait for one file; its row is locked meanwhile


class AccountRun:
    def __init__(
        self,
        ctx: Context,
        *,
        source: Source,
        filters: Filters,
        settings: Settings,
        index: Index,
        account_folder: AccountFolder,
        web: WebClient,
        counts: RunCounts,
    ) -> None:
        self._ctx = ctx
        self._source = source
        self._filters = filters
        self._settings = settings
        self._index = index
        self._folder = account_folder
        self._web = web
        self._counts = counts
        self._download_slots = asyncio.Semaphore(settings.at_once)
        self._placement = FilePlacement(account_folder, self._put)
        self._pause: LongPause | None = None  # of a file, waited after all other files

    async def go(self) -> None:
        """Save the wanted files and report progress."""
        reporting = asyncio.create_task(self._report())
        try:
            await self._go()
        except BaseExceptionGroup as several:
            raise several.exceptions[0] from None
        finally:
            await self._placement.finish()
            reporting.cancel()
            self._counts.report()
        await in_thread(self._folder.drop_parts)  # of files that no server offers any more
        if self._pause is not None:
            raise self._pause

    async def _report(self) -> None:
        while True:
            self._counts.report()
            await asyncio.sleep(REPORT_SECONDS)

    async def _go(self) -> None:
        place = self._ctx.checkpoint
        self._counts.go_on_from(place.get("counts", {}))
        for item, size in await in_thread(self._folder.adopt):
            if item.run == self._ctx.job.id:  # files saved before a crash count for this run
                self._counts.saved(item.key, size)
        if place:
            await self._finish_earlier()
        if place.get("complete"):
            place.update(complete=False, floor=place.get("newest"), cursor=None)
        cursor: str | None = place.get("cursor")
        self._counts.cursor = cursor
        tools = Tools(web=self._web, run=self._ctx.run)
        pages = self._source.pages(
            self._folder.account, cursor=cursor, floor=place.get("floor"), filters=self._filters,
            tools=tools,
        )  # fmt: skip
        async with aclosing(pages):
            async for page in pages:
                self._counts.page += 1
                if cursor is None and page.posts:
                    place["newest"] = page.posts[0].id
                left = await self._save_page(page)
                if left is not None:
                    before = _cursor_before(page, left)
                    self._move(before if before is not None else cursor)
                    return
                if self._is_too_old(page):
                    break
                if page.next is not None:
                    cursor = page.next
                    self._move(cursor)
        self._move(None)
        place["complete"] = True

    def _move(self, cursor: str | None) -> None:
        self._ctx.checkpoint["cursor"] = self._counts.cursor = cursor
        self._ctx.checkpoint["counts"] = self._counts.kept()
        self._counts.report()

    def _is_too_old(self, page: Page) -> bool:
        """Return whether all further pages are older than wanted."""
        return (
            self._source.is_ordered
            and bool(page.posts)
            and self._filters.is_before(page.posts[-1].posted_at)
        )

    async def _finish_earlier(self) -> None:
        """Fetch begun and temporarily failed files first."""
        begun = await in_thread(self._index.unfinished, self._folder.account)
        wanted = [item.post for item in begun if not self._is_unwanted(item.post)]
        await self._save(wanted[: self._room()])

    async def _save_page(self, page: Page) -> Post | None:
        """Save the wanted files of a page; return the post at which the limit was reached, if
        any."""
        single = [_with_one(post, n) for post in page.posts for n in range(len(post.media))]
        wanted = [post for post in single if not self._is_unwanted(post)]
        there = await in_thread(self._there, [post.media[0].key for post in wanted])
        fresh: deque[Post] = deque()
        for post in wanted:
            run = there.get(post.media[0].key)
            if run is None:
                fresh.append(post)
            elif run != self._ctx.job.id:  # otherwise it is counted as downloaded
                self._counts.skipped += 1
        while fresh:
            room = self._room()
            if room == 0:
                return fresh[0]
            await self._save([fresh.popleft() for _ in range(min(room, len(fresh)))])
        return None

    def _there(self, keys: Sequence[str]) -> dict[str, str]:
        """Return the saved keys among these, with the runs that saved them.

        Only a start notices that a file was deleted by hand, and fetches it again.
        """
        saved = self._index.saved_among(self._folder.account, keys)
        looks = self._ctx.job.kind == "start"
        return {
            key: run for key, (name, run) in saved.items() if not looks or self._folder.has(name)
        }

    def _room(self) -> int:
        """Return how many more files this run may save."""
        if self._filters.most is None:
            return 1_000_000
        return max(0, self._filters.most - self._counts.downloaded)

    def _is_unwanted(self, post: Post) -> bool:
        unwanted = self._filters.refuses(post, post.media[0])
        self._counts.filtered += unwanted
        return unwanted

    async def _save(self, posts: Sequence[Post]) -> None:
        """Save these posts, several at a time."""
        if not posts:
            return
        unique = {post.media[0].key: post for post in posts}
        items = await in_thread(
            self._index.claim, self._folder.account, list(unique.values()),
            run=self._ctx.job.id, folder=self._folder.folder,
        )  # fmt: skip
        async with asyncio.TaskGroup() as group:
            for item in items:
                group.create_task(self._save_one(item))

    async def _save_one(self, item: Item) -> None:
        try:
            async with self._download_slots:
                whole = await self._download(item).run()
            await self._placement.put(item, whole)
        except UnwantedFile:
            self._counts.filtered += 1
            await in_thread(self._leave, item)
        except LongPause as pause:
            if pause.seconds <= WAITED_SECONDS:
                self._pause = pause
            await self._fail(item, str(pause), is_lasting=False)
        except FileError as trouble:
            await self._fail(item, str(trouble), is_lasting=trouble.is_lasting)

    async def _fail(self, item: Item, reason: str, *, is_lasting: bool) -> None:
        self._counts.failed_with(item.key, item.name, reason)
        await in_thread(self._leave, item, reason, is_lasting=is_lasting)

    def _put(self, item: Item, whole: CompleteFile) -> None:
        self._counts.saved(item.key, whole.bytes)

    def _download(self, item: Item) -> Download:
        return Download(
            item.media,
            self._folder.part(item),
            web=self._web,
            settings=self._settings,
            validator=item.validator,
            min_bytes=self._filters.min_bytes,
            remember=lambda validator: self._index.remember(item, validator),
            arrived=self._counts.arrived,
        )

    def _leave(self, item: Item, reason: str | None = None, *, is_lasting: bool = True) -> None:
        """Delete the part of an unsaved file, and store the reason, if there is one."""
        self._folder.drop_part(item)
        if reason is None:
            self._index.forget(item)
        else:
            self._index.failed(item, reason, is_lasting=is_lasting)


def _with_one(post: Post, number: int) -> Post:
    return msgspec.structs.replace(post, media=(post.media[number],))


def _cursor_before(page: Page, left: Post) -> str | None:
    """Return the cursor after the last completely settled post; None if there is none."""
    found: str | None = None
    for post in page.posts:
        if post.id == left.id:
            return found
        found = post.after
    return found
