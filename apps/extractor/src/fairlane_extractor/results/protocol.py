"""The contract of a store of results; every store passes the same tests.

The calls block, so an event loop makes them with `asyncio.to_thread`.
"""

from collections.abc import Sequence
from typing import Final, Protocol

from fairlane_extractor.results.stored_result import (
    HitPage,
    ResultPage,
    ResultSummary,
    StoredResult,
)

LARGEST_PAGE: Final = 1_000


class ResultStore(Protocol):
    """Results by the id of their job. All calls are safe from any thread and process.

    Errors are those of Fairlane: `StoreUnavailable`, `DatabaseCorrupt`, `SchemaTooNew`; a cursor
    that no page gave is `BadSetting`. A page has at most `LARGEST_PAGE` items.
    """

    def prepare(self) -> None:
        """Create or update the tables; several processes may call this at once."""
        ...

    def save(self, result: StoredResult) -> None:
        """Store a result; an earlier one with the same id is replaced."""
        ...

    def load(self, result_id: str) -> StoredResult | None:
        """Return a result, or None if there is none with this id."""
        ...

    def list(self, *, limit: int = 50, cursor: str | None = None) -> ResultPage:
        """Return the newest results, or those after a cursor."""
        ...

    def summaries(self, ids: Sequence[str]) -> Sequence[ResultSummary]:
        """Return the results with these ids that are there, in no order."""
        ...

    def is_media_of_others(self, path: str, *, than: str) -> bool:
        """Return whether a file is the media of another result than the named one."""
        ...

    def delete(self, result_id: str) -> bool:
        """Remove a result, and return whether it was there; the caller removes its media."""
        ...

    def search(self, query: str, *, limit: int = 50, cursor: str | None = None) -> HitPage:
        """Return the passages that contain all words of a query, the last saved result first.

        A word is found by its beginning; words in one piece, such as `full-text` or Chinese
        characters, and words in double quotes are found in their order.
        """
        ...

    def close(self) -> None:
        """Close all connections; the next call opens new ones."""
        ...
