"""The results of extractions, stored on SQLite or PostgreSQL and found by their words."""

from fairlane_extractor.results.open_store import open_store
from fairlane_extractor.results.protocol import ResultStore
from fairlane_extractor.results.stored_result import (
    Hit,
    HitPage,
    Part,
    ResultPage,
    ResultSummary,
    StoredResult,
)

__all__ = [
    "Hit",
    "HitPage",
    "Part",
    "ResultPage",
    "ResultStore",
    "ResultSummary",
    "StoredResult",
    "open_store",
]
