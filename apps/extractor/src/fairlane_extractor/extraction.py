"""One extraction: its stages, their retries and fallbacks, and the result.

Rules:

- The result of each stage is stored, so a job that is retried or recovered does not run it again.
- A branch that fails is part of the result, with its reason. A job fails if its media cannot be
  had, or if branches failed and no other one found a text.
- Temporary files lie in the work folder of the job. The media moves to its final folder at the end,
  by a rename, so that a job that dies there finds it in one of the two.
"""

import asyncio
import shutil
import time
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from typing import Any, Final, Literal, TypeVar

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from fairlane import Context, Fallback, Permanent, Retry
from fairlane_extractor import frames, sources, speech, tracks
from fairlane_extractor.media import LocalMedia, Media
from fairlane_extractor.merging import merge
from fairlane_extractor.paragraphs import raw_lines
from fairlane_extractor.results import ResultStore, StoredResult
from fairlane_extractor.segments import Branch, BranchName, BranchResult, Line, Segment
from fairlane_extractor.settings import MediaPolicy, Settings
from fairlane_extractor.sources.platforms import LOCAL, platform_of

STAGES: Final = ("parsing", "downloading", "subtitle", "asr", "ocr", "merging")
PARSING_RETRY: Final = Retry(times=2, first_seconds=5, factor=3, on=("timeout", "5xx"))
DOWNLOADING_RETRY: Final = Retry(times=2, first_seconds=10, factor=1)
RECOGNISER: Final = {"recogniser": 1}

T = TypeVar("T")

Wish = Literal["auto", "always", "never"]
Progress = Callable[[float, str], None]
Step = Callable[[Progress], Awaitable[T]]
Failures = list[tuple[str, Exception]]  # the title of a failed step, and its error


class Order(Struct, frozen=True, kw_only=True):
    """The parameters of an extraction."""

    input: str
    speech: Wish = "auto"
    frames: Wish = "auto"
    language: str | None = None
    media: MediaPolicy = "keep"


class Merged(Struct, frozen=True, kw_only=True):
    """The stored result of the merging stage."""

    branch: Branch
    lines: tuple[Line, ...] = ()


class Extraction:
    """One attempt of one job."""

    def __init__(
        self, ctx: Context, order: Order, *, settings: Settings, results: ResultStore
    ) -> None:
        self._ctx = ctx
        self._order = order
        self._settings = settings
        self._results = results
        self._folder = settings.work_folder / ctx.job.id

    async def execute(self) -> dict[str, Any]:
        """Run all stages, store the result, and return its summary."""
        self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        media = await self._parse()
        local = await self._download(media)
        found = await self._extract(media, local)
        merged = await self._merge([one for result in found for one in result.segments])
        branches = (*(result.branch for result in found), merged.branch)
        failed = [one for one in branches if one.status == "failed"]
        if failed and not merged.lines:
            raise Permanent(
                f"no text was found: {'; '.join(one.reason or one.name for one in failed)}",
                code=failed[-1].code or "no_text",
            )
        result = StoredResult(
            id=self._ctx.job.id, input=media.input, platform=media.platform, title=media.title,
            seconds=local.seconds, language=_language_of(merged.lines, media),
            media_path=None, created_at=time.time(), branches=branches, lines=merged.lines,
        )  # fmt: skip
        result = await self._store(result, local)
        return {
            "title": result.title, "platform": result.platform, "seconds": result.seconds,
            "language": result.language, "lines": len(result.lines),
            "characters": sum(len(line.text) for line in result.lines),
            "media": result.media_path,
            "branches": [
                {"name": one.name, "status": one.status, "method": one.method,
                 "segments": one.segments, "code": one.code, "reason": one.reason}
                for one in branches
            ],
        }  # fmt: skip

    # parsing and downloading

    async def _parse(self) -> Media:
        async def parse(progress: Progress) -> Media:
            return await sources.parse(self._ctx, self._settings, self._order.input, progress)

        platform = platform_of(self._order.input)
        limits = [] if platform == LOCAL else [f"parsing:{platform}"]
        return await self._run("parsing", Media, parse, retry=PARSING_RETRY, limits=limits)

    async def _download(self, media: Media) -> LocalMedia:
        async def download(progress: Progress) -> LocalMedia:
            return await sources.download(self._ctx, self._settings, media, self._folder, progress)

        local = await self._run("downloading", LocalMedia, download, retry=DOWNLOADING_RETRY)
        if self._is_gone(local):  # the job was retried by hand after its end, or on another machine
            async with self._ctx.stage("downloading again") as stage:
                local = await download(stage.progress)
        return local

    def _is_gone(self, local: LocalMedia) -> bool:
        path = Path(local.path)
        is_ours = path.is_relative_to(self._folder)
        return is_ours and not path.exists() and not self._media_path(local).exists()

    # extracting

    async def _extract(self, media: Media, local: LocalMedia) -> list[BranchResult]:
        language = self._order.language or media.language
        subtitle = await self._branch(
            "subtitle",
            [("tracks", lambda progress: tracks.read_tracks(
                self._ctx, self._settings, local, language, progress))],
        )  # fmt: skip
        asr = await self._speech(local, language, has_subtitles=bool(subtitle.segments))
        ocr = await self._frames(local)
        return [subtitle, asr, ocr]

    async def _speech(
        self, local: LocalMedia, language: str | None, *, has_subtitles: bool
    ) -> BranchResult:
        if self._order.speech == "never":
            return await self._skip("asr", "not_wanted", "speech is switched off for this task")
        if has_subtitles and self._order.speech == "auto":
            return await self._skip("asr", "has_subtitles", "the subtitles have the spoken text")

        def recognise(model: speech.Model) -> Step[BranchResult]:
            return lambda progress: speech.recognise(
                self._ctx, self._settings, local, self._folder, model, language, progress
            )

        steps = [("the large model", recognise("large")), ("the small model", recognise("small"))]
        return await self._branch("asr", steps, uses=RECOGNISER)

    async def _frames(self, local: LocalMedia) -> BranchResult:
        if self._order.frames == "never":
            return await self._skip("ocr", "not_wanted", "text on frames is switched off")
        if not local.has_video:
            return await self._skip("ocr", "no_video", "the media has no pictures")
        return await self._branch(
            "ocr",
            [("frames", lambda progress: frames.recognise(
                self._ctx, self._settings, local, self._folder, progress))],
            uses=RECOGNISER,
        )  # fmt: skip

    async def _branch(
        self,
        name: BranchName,
        steps: Sequence[tuple[str, Step[BranchResult]]],
        *,
        uses: dict[str, int] | None = None,
    ) -> BranchResult:
        """Run a branch: its first step, the others as fallbacks, and at last no text at all.

        A failed step is a part of the reason of the branch.
        """
        failures: Failures = []

        def attempt(title: str, step: Step[BranchResult]) -> Step[BranchResult]:
            async def run(progress: Progress) -> BranchResult:
                try:
                    result = await step(progress)
                except Exception as error:
                    failures.append((title, error))
                    self._ctx.log(f"{name}: {title} failed: {error}", "warning")
                    raise
                return _after(result, failures)

            return run

        async def give_up(_: Progress) -> BranchResult:
            error = failures[-1][1]
            branch = Branch(
                name=name,
                status="failed",
                code=getattr(error, "code", "error"),
                reason=_reason(failures),
            )
            return BranchResult(branch=branch)

        first, *others = [attempt(title, step) for title, step in steps]
        return await self._run(name, BranchResult, first, [*others, give_up], uses=uses)

    async def _skip(self, name: BranchName, code: str, reason: str) -> BranchResult:
        self._ctx.stage(name).skip(reason)
        return BranchResult(branch=Branch(name=name, status="skipped", code=code, reason=reason))

    # merging and storing

    async def _merge(self, segments: Sequence[Segment]) -> Merged:
        failures: Failures = []

        async def merge_all(_: Progress) -> Merged:
            try:
                lines = await asyncio.to_thread(merge, segments)
            except Exception as error:
                failures.append(("merging", error))
                self._ctx.log(f"merging failed: {error}", "warning")
                raise
            branch = Branch(name="merging", status="used", segments=len(lines))
            return Merged(branch=branch, lines=tuple(lines))

        async def keep_raw(_: Progress) -> Merged:
            lines = raw_lines(segments)
            branch = Branch(
                name="merging", status="failed", code="merging_failed",
                reason=f"{_reason(failures)}; the lines are the raw segments",
            )  # fmt: skip
            return Merged(branch=branch, lines=tuple(lines))

        return await self._run("merging", Merged, merge_all, [keep_raw])

    async def _store(self, result: StoredResult, local: LocalMedia) -> StoredResult:
        """Store the result and its media. A job that is cancelled meanwhile has neither."""

        def store() -> StoredResult:
            stored = replace(result, media_path=self._keep_media(local))
            self._results.save(stored)
            shutil.rmtree(self._folder, ignore_errors=True)
            return stored

        storing = asyncio.ensure_future(asyncio.to_thread(store))
        try:
            return await asyncio.shield(storing)
        except asyncio.CancelledError:
            await asyncio.wait([storing])  # a thread cannot be stopped
            if self._ctx.stopping:
                await asyncio.to_thread(self._results.delete, result.id)
            raise

    def _keep_media(self, local: LocalMedia) -> str | None:
        """Move downloaded media to its final place, or leave it to be removed; return its path."""
        path = Path(local.path)
        is_upload = path.is_relative_to(self._settings.uploads_folder)
        if self._order.media == "remove" and (is_upload or path.is_relative_to(self._folder)):
            return None
        if not path.is_relative_to(self._folder):
            return str(path)  # a file of the user, which stays where it is
        target = self._media_path(local)
        if path.exists():
            target.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            path.replace(target)
        self._ctx.artifact(target, "media")
        return str(target)

    def _media_path(self, local: LocalMedia) -> Path:
        return self._settings.media_folder / self._ctx.job.id / Path(local.path).name

    async def _run(
        self,
        name: str,
        kind: type[T],
        function: Step[T],
        fallbacks: Sequence[Step[T]] = (),
        **options: Any,
    ) -> T:
        """Run a function as a stage; Fairlane stores its result as JSON."""
        stage = self._ctx.stage(name)
        value = await stage.run(
            _encoded(function), stage.progress,
            fallback=[Fallback(_encoded(one)) for one in fallbacks], **options,
        )  # fmt: skip
        return msgspec.convert(value, kind)


def _encoded(function: Step[Any]) -> Step[Any]:
    async def run(progress: Progress) -> Any:
        return msgspec.to_builtins(await function(progress))

    return run


def _after(result: BranchResult, failures: Failures) -> BranchResult:
    """Add the failures of earlier steps to the reason of a branch."""
    if not failures:
        return result
    known = f"; {result.branch.reason}" if result.branch.reason else ""
    return replace(result, branch=replace(result.branch, reason=_reason(failures) + known))


def _reason(failures: Failures) -> str:
    return "; ".join(f"{title} failed: {error}" for title, error in failures)


def _language_of(lines: Sequence[Line], media: Media) -> str | None:
    """Return the language of most characters, or that of the site."""
    counts: dict[str, int] = {}
    for line in lines:
        if line.language:
            counts[line.language] = counts.get(line.language, 0) + len(line.text)
    return max(counts, key=lambda name: counts[name]) if counts else media.language
