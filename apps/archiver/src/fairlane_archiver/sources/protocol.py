"""The interface of a source, and the tools that it gets."""

from collections.abc import AsyncGenerator, Awaitable, Callable
from typing import Any, Protocol

from msgspec import Struct

from fairlane_archiver.filters import Filters
from fairlane_archiver.posts import Page
from fairlane_archiver.web_client import WebClient


class Tools(Struct, frozen=True, kw_only=True):
    """The means of a source: HTTP requests, and programs that end with the job."""

    web: WebClient
    run: Callable[..., Awaitable[Any]]


class Source(Protocol):
    name: str
    is_ordered: bool  # newest first, so that the first old post ends the run

    def check(self) -> None:
        """Raise Permanent where this machine lacks a requirement of the source."""
        ...

    def recognise(self, text: str) -> str | None:
        """Return the canonical name of an account; None if the text belongs to another source."""
        ...

    def pages(
        self,
        account: str,
        *,
        cursor: str | None,
        floor: str | None,
        filters: Filters,
        tools: Tools,
    ) -> AsyncGenerator[Page, None]:
        """Yield pages from the cursor on, or from the newest; stop at the post `floor`.

        Filters let a source save requests where its server supports them.
        """
        ...
