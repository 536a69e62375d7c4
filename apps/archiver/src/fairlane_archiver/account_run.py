"""One run of one account: page after page, what is wanted and not there yet.

The cursor moves on when everything of a page is settled, so that whoever continues misses nothing;
what of an unsettled page is there already is skipped by the index. A pass that came to its end
remembers the newest post it saw, and the next Continue looks only at what is newer.
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

TELL_SECONDS: Final = 0.25
WAITED_SECONDS: Final = 6 * 3_600.0  # for a single file; its row is locked for as long


class AccountRun:
    def __init__(
        self,
        ctx: Context,
        *,
        source: Source,
        filters: Filters,
        settings: Settings,
        index: Index,
        shelf: AccountFolder,
        web: WebClient,
        counts: RunCounts,
    ) -> None:
        self._ctx = ctx
        self._source = source
        self._filters = filters
        self._settings = settings
        self._index = index
        self._shelf = shelf
        self._web = web
        self._counts = counts
        self._places = asyncio.Semaphore(settings.at_once)
        self._putting = FilePlacement(shelf, self._put)
        self._pause: LongPause | None = None  # that some file has to wait out, after all others

    async def go(self) -> None:
        """Save what is wanted, telling of it all the while."""
        telling = asyncio.create_task(self._tell())
        try:
            await self._go()
        except BaseExceptionGroup as several:
            raise several.exceptions[0] from None
        finally:
            await self._putting.finish()
            telling.cancel()
            self._counts.tell()
        await in_thread(self._shelf.drop_parts)  # of what is no longer to be had anywhere
        if self._pause is not None:
            raise self._pause

    async def _tell(self) -> None:
        while True:
            self._counts.tell()
            await asyncio.sleep(TELL_SECONDS)

    async def _go(self) -> None:
        place = self._ctx.checkpoint
        self._counts.go_on_from(place.get("counts", {}))
        for item, size in await in_thread(self._shelf.adopt):
            if item.run == self._ctx.job.id:  # what it did before it died is its doing, too
                self._counts.saved(item.key, size)
        if place:
            await self._finish_earlier()
        if place.get("complete"):
            place.update(complete=False, floor=place.get("newest"), cursor=None)
        cursor: str | None = place.get("cursor")
        self._counts.cursor = cursor
        tools = Tools(web=self._web, run=self._ctx.run)
        pages = self._source.pages(
            self._shelf.account, cursor=cursor, floor=place.get("floor"), filters=self._filters,
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
        self._counts.tell()

    def _is_too_old(self, page: Page) -> bool:
        """Tell whether everything further on is older than wanted."""
        return (
            self._source.is_ordered
            and bool(page.posts)
            and self._filters.is_before(page.posts[-1].posted_at)
        )

    async def _finish_earlier(self) -> None:
        """Go on with what was begun, or failed for a while, before anything new."""
        begun = await in_thread(self._index.unfinished, self._shelf.account)
        wanted = [item.post for item in begun if not self._is_unwanted(item.post)]
        await self._save(wanted[: self._room()])

    async def _save_page(self, page: Page) -> Post | None:
        """Save what is wanted of a page; return the post at which there was enough, if any."""
        single = [_with_one(post, n) for post in page.posts for n in range(len(post.media))]
        wanted = [post for post in single if not self._is_unwanted(post)]
        there = await in_thread(self._there, [post.media[0].key for post in wanted])
        fresh: deque[Post] = deque()
        for post in wanted:
            run = there.get(post.media[0].key)
            if run is None:
                fresh.append(post)
            elif run != self._ctx.job.id:  # else it is counted as downloaded
                self._counts.skipped += 1
        while fresh:
            room = self._room()
            if room == 0:
                return fresh[0]
            await self._save([fresh.popleft() for _ in range(min(room, len(fresh)))])
        return None

    def _there(self, keys: Sequence[str]) -> dict[str, str]:
        """Return which of these are there, with the runs that saved them.

        Only a Start notices that somebody has deleted a file, and fetches it again.
        """
        saved = self._index.saved_among(self._shelf.account, keys)
        looks = self._ctx.job.kind == "start"
        return {
            key: run for key, (name, run) in saved.items() if not looks or self._shelf.has(name)
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
        """Save these, several at a time."""
        if not posts:
            return
        unique = {post.media[0].key: post for post in posts}
        items = await in_thread(
            self._index.take, self._shelf.account, list(unique.values()),
            run=self._ctx.job.id, folder=self._shelf.folder,
        )  # fmt: skip
        async with asyncio.TaskGroup() as group:
            for item in items:
                group.create_task(self._save_one(item))

    async def _save_one(self, item: Item) -> None:
        try:
            async with self._places:
                whole = await self._download(item).run()
            await self._putting.put(item, whole)
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
            self._shelf.part(item),
            web=self._web,
            settings=self._settings,
            validator=item.validator,
            min_bytes=self._filters.min_bytes,
            remember=lambda validator: self._index.remember(item, validator),
            arrived=self._counts.arrived,
        )

    def _leave(self, item: Item, reason: str | None = None, *, is_lasting: bool = True) -> None:
        """Leave nothing of a file that is not saved but the reason, if there is one."""
        self._shelf.drop_part(item)
        if reason is None:
            self._index.forget(item)
        else:
            self._index.failed(item, reason, is_lasting=is_lasting)


def _with_one(post: Post, number: int) -> Post:
    return msgspec.structs.replace(post, media=(post.media[number],))


def _cursor_before(page: Page, left: Post) -> str | None:
    """Return the cursor behind the last post that was settled whole; None if there is none."""
    found: str | None = None
    for post in page.posts:
        if post.id == left.id:
            return found
        found = post.after
    return found
