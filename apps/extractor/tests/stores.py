"""Stores of results for tests, on both databases."""

import atexit
from contextlib import ExitStack
from functools import cache
from pathlib import Path
from typing import Any, Final

from fairlane_extractor.results import ResultStore, StoredResult, open_store
from fairlane_extractor.segments import Branch, Line
from fairlane_extractor.settings import Settings
from tests.support.postgres import Databases, databases

DIALECTS: Final = ("sqlite", "postgres")


@cache
def postgres_server() -> Databases:
    """Return the PostgreSQL server of this test process, started when the first test needs it."""
    stack = ExitStack()
    atexit.register(stack.close)
    return stack.enter_context(databases())


def new_settings(dialect: str, folder: Path) -> Settings:
    """Return settings with an empty database."""
    database = None if dialect == "sqlite" else postgres_server().new_database()
    return Settings(folder=folder, database=database)


def new_store(dialect: str, folder: Path) -> ResultStore:
    """Return an empty store, prepared."""
    store = open_store(new_settings(dialect, folder))
    store.prepare()
    return store


def result(number: int = 1, *texts: str, **changed: Any) -> StoredResult:
    """Return a result whose lines are said one after the other."""
    values: dict[str, Any] = {
        "id": f"job-{number}",
        "input": f"https://video.example/{number}",
        "platform": "web",
        "title": f"Video {number}",
        "seconds": 60.0,
        "language": "en",
        "media_path": f"/media/{number}.mp4",
        "created_at": 1_800_000_000.0 + number,
        "branches": (
            Branch(name="asr", status="used", method="moonshine", segments=len(texts)),
            Branch(name="ocr", status="skipped", code="no_video", reason="there are no frames"),
        ),
        "lines": tuple(
            Line(start=4.0 * n, end=4.0 * n + 3, text=text, sources=("speech",), confidence=0.9)
            for n, text in enumerate(texts)
        ),
    }
    return StoredResult(**(values | changed))
