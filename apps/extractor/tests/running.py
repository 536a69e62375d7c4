"""Extractors in folders of tests, and the text that they found."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from fairlane import JobView
from fairlane_extractor.program import Extractor, build
from fairlane_extractor.results import StoredResult
from fairlane_extractor.segments import Branch
from fairlane_extractor.settings import Settings


@asynccontextmanager
async def extracting(folder: Path, **settings: Any) -> AsyncIterator[Extractor]:
    """Run an extractor in a folder, which is created, for the duration of a block."""
    extractor = build(Settings(folder=folder, **settings), recheck_seconds=0.05)
    extractor.results.prepare()
    try:
        async with extractor.app:
            yield extractor
    finally:
        extractor.results.close()


async def extract(extractor: Extractor, input: str | Path, **options: Any) -> JobView:
    """Submit an input and return its job once it has ended."""
    job = await extractor.extract.submit(input=str(input), **options)
    return await extractor.app.jobs.wait(job.id)


def text_of(extractor: Extractor, job: JobView) -> StoredResult:
    """Return the stored result of a completed job."""
    assert job.state == "completed", job.error
    result = extractor.results.load(job.id)
    assert result is not None
    return result


def branch_of(result: StoredResult, name: str) -> Branch:
    return next(branch for branch in result.branches if branch.name == name)


def leftovers(folder: Path) -> list[str]:
    """Return the temporary files of a folder; there are none when no job runs."""
    return sorted(str(path.relative_to(folder)) for path in (folder / "work").rglob("*"))
