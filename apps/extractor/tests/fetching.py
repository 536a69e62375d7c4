"""Fetch links of a site on loopback inside a job, as the stages of an extraction do."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, Final

import pytest

from apps.extractor.tests.job_contexts import job_context
from apps.extractor.tests.site_server import Site
from fairlane import Context, Permanent, Retryable
from fairlane_extractor import sources
from fairlane_extractor.media import LocalMedia, Media
from fairlane_extractor.settings import Settings

REMEDY: Final = "try a local upload of the file"


class Fetcher:
    """A running job that may visit a site, and no other private address."""

    def __init__(self, ctx: Context, server: Site, folder: Path) -> None:
        self.ctx = ctx
        self.messages: list[str] = []
        self.percents: list[float] = []
        self._server = server
        self._folder = folder

    @property
    def folder(self) -> Path:
        """The work folder of the job."""
        return self.settings().work_folder / self.ctx.job.id

    def settings(self, **more: Any) -> Settings:
        return Settings(folder=self._folder, **{"allow": (self._server.host,), **more})

    async def parse(self, link: str, **settings: Any) -> Media:
        return await sources.parse(self.ctx, self.settings(**settings), link, self._note)

    async def download(self, media: Media, **settings: Any) -> LocalMedia:
        return await sources.download(
            self.ctx, self.settings(**settings), media, self.folder, self._note
        )

    async def fetch(self, link: str, **settings: Any) -> LocalMedia:
        return await self.download(await self.parse(link, **settings), **settings)

    async def refusal(self, link: str, **settings: Any) -> Permanent | Retryable:
        """Return the error of parsing a link, which must name the remedy."""
        with pytest.raises((Permanent, Retryable)) as raised:
            await self.parse(link, **settings)
        assert str(raised.value).endswith(REMEDY)
        return _error(raised.value)

    async def failure(self, media: Media, **settings: Any) -> Permanent | Retryable:
        """Return the error of a download."""
        with pytest.raises((Permanent, Retryable)) as raised:
            await self.download(media, **settings)
        return _error(raised.value)

    def _note(self, percent: float, message: str) -> None:
        self.percents.append(percent)
        self.messages.append(message)


def _error(error: BaseException) -> Permanent | Retryable:
    assert isinstance(error, Permanent | Retryable)
    return error


@asynccontextmanager
async def fetching(server: Site, folder: Path) -> AsyncIterator[Fetcher]:
    async with job_context() as ctx:
        yield Fetcher(ctx, server, folder)
