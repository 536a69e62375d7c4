"""Extractors whose extractions do what a test says, for tests of the site.

A fake result is only in these tests; `test_extraction` runs the real stages.
"""

import asyncio
import time
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from types import MappingProxyType
from typing import Any, Final, NamedTuple

import pytest

from apps.extractor.tests.clips import copied_clip
from fairlane import Context
from fairlane_extractor import program
from fairlane_extractor.extraction import STAGES, Order
from fairlane_extractor.program import Extractor
from fairlane_extractor.results import ResultStore, StoredResult
from fairlane_extractor.segments import Branch, Line
from fairlane_extractor.settings import Settings
from fairlane_extractor.site import build_with_site

LINK: Final = "https://video.example/watch?v=walk"
SIGN: Final = "欢迎来到河边小镇"
LINES: Final = (
    Line(start=0.4, end=2.5, text="The river is wide here.", sources=("subtitle", "speech")),
    Line(
        start=2.6, end=5.0, text="We crossed the old bridge.", sources=("speech",), confidence=0.62
    ),
    Line(start=5.5, end=7.4, text=SIGN, sources=("frame",), confidence=0.97, paragraph=1),
)
BRANCHES: Final = (
    Branch(name="subtitle", status="used", method="track en", segments=1),
    Branch(name="asr", status="skipped", code="has_subtitles", reason="the subtitles have it"),
    Branch(name="ocr", status="used", method="rapidocr", segments=1),
    Branch(name="merging", status="used", segments=3),
)


class Command(NamedTuple):
    """A step of an extraction: progress, done, skip, finish, fail."""

    verb: str
    values: tuple[Any, ...] = ()


class Script:
    """What the extraction of each input does; commands to one that has not begun wait."""

    def __init__(self) -> None:
        self._commands: dict[str, asyncio.Queue[Command]] = {}
        self.media: Path | None = None

    def progress(self, input: str, percent: float, message: str = "") -> None:
        self._put(input, Command("progress", (percent, message)))

    def done(self, input: str, stages: int = 1) -> None:
        """End the present stage, or more."""
        for _ in range(stages):
            self._put(input, Command("done"))

    def skip(self, input: str, reason: str) -> None:
        self._put(input, Command("skip", (reason,)))

    def finish(self, *inputs: str, lines: tuple[Line, ...] = LINES, title: str = "A walk") -> None:
        """End all stages, and store a result."""
        for input in inputs:
            self._put(input, Command("finish", (lines, title)))

    def fail(self, input: str, error: Exception) -> None:
        self._put(input, Command("fail", (error,)))

    def commands(self, input: str) -> asyncio.Queue[Command]:
        return self._commands.setdefault(input, asyncio.Queue())

    def _put(self, input: str, command: Command) -> None:
        self.commands(input).put_nowait(command)


class ScriptedExtraction:
    def __init__(
        self, script: Script, ctx: Context, order: Order, settings: Settings, results: ResultStore
    ) -> None:
        self._commands = script.commands(order.input)
        self._media = None if script.media is None else str(script.media)
        self._ctx = ctx
        self._order = order
        self._results = results
        self._finish: Command | None = None

    async def execute(self) -> dict[str, Any]:
        for name in STAGES:
            await self._run_stage(name)
        finish = self._finish or await self._commands.get()
        return await self._store(*finish.values)

    async def _run_stage(self, name: str) -> None:
        if self._finish is not None:
            async with self._ctx.stage(name):
                return
        async with self._ctx.stage(name) as stage:
            while True:
                verb, values = command = await self._commands.get()
                match verb:
                    case "progress":
                        stage.progress(*values)
                    case "fail":
                        raise values[0]
                    case "skip":
                        break
                    case "finish":
                        self._finish = command
                        return
                    case _:
                        return
        self._ctx.stage(name).skip(*values)

    async def _store(self, lines: tuple[Line, ...], title: str) -> dict[str, Any]:
        result = StoredResult(
            id=self._ctx.job.id, input=self._order.input, platform="web", title=title,
            seconds=8.0, language="en", media_path=self._media,
            created_at=time.time(), branches=BRANCHES, lines=lines,
        )  # fmt: skip
        await asyncio.to_thread(self._results.save, result)
        return {
            "title": title, "platform": "web", "seconds": 8.0, "language": "en",
            "lines": len(lines), "characters": sum(len(line.text) for line in lines),
            "media": result.media_path, "branches": [],
        }  # fmt: skip


def kept_clip(extractor: Extractor, **facts: Any) -> Path:
    """Create a clip as a download that was kept."""
    folder = extractor.settings.media_folder
    folder.mkdir(exist_ok=True)
    return copied_clip(folder / "clip.mp4", **facts)


@asynccontextmanager
async def scripted(
    folder: Path, settings: Mapping[str, Any] = MappingProxyType({}), **options: Any
) -> AsyncIterator[tuple[Extractor, Script]]:
    """Run an extractor with its site mounted, whose extractions follow a script."""
    script = Script()

    def extraction(ctx: Context, order: Order, **facts: Any) -> ScriptedExtraction:
        return ScriptedExtraction(script, ctx, order, **facts)

    extractor = build_with_site(
        Settings(folder=folder, database="memory://", **settings), **options
    )
    extractor.results.prepare()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(program, "Extraction", extraction)
        try:
            async with extractor.app:
                yield extractor, script
        finally:
            extractor.results.close()
