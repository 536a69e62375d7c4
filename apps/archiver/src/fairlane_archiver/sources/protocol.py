"""What a source has to offer, and what it is given."""

from collections.abc import AsyncGenerator, Awaitable, Callable
from typing import Any, Protocol

from msgspec import Struct

from fairlane_archiver.filters import Filters
from fairlane_archiver.posts import Page
from fairlane_archiver.web_client import WebClient


class Tools(Struct, frozen=True, kw_only=True):
    """How a source reaches out: over the web, or by a program that ends with the job."""

    web: WebClient
    run: Callable[..., Awaitable[Any]]


class Source(Protocol):
    name: str
    is_ordered: bool  # the newest first, so that what is too old ends it

    def check(self) -> None:
        """Raise Permanent where this machine lacks what the source needs."""
        ...

    def recognise(self, text: str) -> str | None:
        """Return the one name of the account that a text means; None if it is none of ours."""
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
        """Give pages from the cursor on, or from the newest; nothing from the post `floor` down.

        Filters are for those sources that can spare themselves and the server some work.
        """
        ...
