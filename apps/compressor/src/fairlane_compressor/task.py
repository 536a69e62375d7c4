"""The task: one source in, one smaller file out, or the original kept."""

import asyncio
import os
import time
from collections.abc import AsyncIterator, Awaitable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, TypeVar

from msgspec import Struct

from fairlane import Context, Permanent
from fairlane_compressor import errors, file_copy, pack, video
from fairlane_compressor.encode_result import EncodeResult
from fairlane_compressor.estimate import Estimates
from fairlane_compressor.file_kinds import Kind, kind_of
from fairlane_compressor.formats import Format, chosen
from fairlane_compressor.order import Order
from fairlane_compressor.picture import PictureEncoder
from fairlane_compressor.targets import can_never_be, target_of

T = TypeVar("T")


class NotSmaller(Exception):
    """What came out is not smaller than what went in, so nobody wants it."""


class Written(Struct):
    made: EncodeResult
    kept: str  # "result", or "original" where that was not larger
    file: os.stat_result | None  # what was written; None if nothing was


class CompressTask:
    """Carries out orders for one app."""

    def __init__(self) -> None:
        self.estimates = Estimates()
        self.painter = PictureEncoder()

    async def carry_out(self, ctx: Context, order: Order) -> dict[str, Any]:
        """Compress, and say what came of it; errors are told in plain words."""
        try:
            return await self._compress(ctx, order)
        except OSError as error:
            raise errors.of_system(error, path=order.path) from error

    async def _compress(self, ctx: Context, order: Order) -> dict[str, Any]:
        began = time.monotonic()
        kind = kind_of(order.path)
        before = (
            await asyncio.to_thread(self._size_of, order.path, kind)  # of perhaps a million files
            if kind is Kind.FOLDER
            else self._size_of(order.path, kind)
        )
        format = chosen(order.format, kind, order.path.suffix)
        target = target_of(order, kind)
        if ctx.outputs and ctx.outputs[0].suffix == target.suffix:
            target = ctx.outputs[0]  # as it was taken, perhaps with a number
        written = await self._written(ctx, order, kind, format, target, before)
        made = written.made
        output = _published(ctx, order, target, written.file)
        after = before if output is None else output.stat().st_size
        self.estimates.forget(order)
        figures = {
            "before_bytes": before, "after_bytes": after, "saved_bytes": before - after,
            "saved_percent": round(100 * (before - after) / before, 1),
        }  # fmt: skip
        ctx.report(**figures)  # which the console plots over time
        return {
            "source": str(order.path), "output": None if output is None else str(output),
            "kept": written.kept, "kind": str(kind), "format": made.format, **figures,
            "width": made.width, "height": made.height, "score": made.score, "note": made.note,
            "seconds": round(time.monotonic() - began, 3),
        }  # fmt: skip

    def _size_of(self, source: Path, kind: Kind) -> int:
        if kind is not Kind.FOLDER and not source.is_file():
            raise Permanent(f"{source} is neither a file nor a folder", code="bad_path")
        size = self.estimates.source_bytes(source)
        if size == 0:
            raise Permanent(f"{source} is empty: there is nothing to compress", code="empty_input")
        return size

    async def _written(
        self, ctx: Context, order: Order, kind: Kind, format: Format, target: Path, before: int
    ) -> Written:
        """Write the result, or a copy of the original where that is wanted in its place."""
        made, file = EncodeResult(format=format.name), None
        try:
            if format.kind is Kind.PICTURE:
                # It is encoded while its place is being prepared: pictures are short work.
                async with (
                    self.painter.painting(order, format) as painting,
                    _output(ctx, order, target, kind) as part,
                ):
                    below = before if order.format == "auto" else None
                    writing = painting.written(part, below=below)
                    written = await self._learning(order, part, writing)
                    if written is None:
                        raise NotSmaller
                    made, file = written, part.stat()
            else:
                async with _output(ctx, order, target, kind) as part:
                    encoding = (
                        video.encode(ctx, order, format, part)
                        if format.kind is Kind.VIDEO
                        else pack.encode(ctx, order, format, part, size=before)
                    )
                    made = await self._learning(order, part, encoding)
                    file = part.stat()
                    if order.format == "auto" and file.st_size >= before:
                        raise NotSmaller
        except NotSmaller:
            file = None
            if target.parent != order.path.parent and target.suffix == order.path.suffix:
                # Whoever has everything put into another folder expects everything there.
                async with _output(ctx, order, target, kind) as part:
                    await file_copy.copy(ctx, order.path, part, size=before)
                    file = part.stat()
            return Written(made, "original", file)
        return Written(made, "result", file)

    async def _learning(self, order: Order, part: Path, work: Awaitable[T]) -> T:
        """Remember how far it came if the disk fills up."""
        try:
            return await work
        except errors.DiskFull:
            self.estimates.learn(order, part)
            raise


@asynccontextmanager
async def _output(ctx: Context, order: Order, target: Path, kind: Kind) -> AsyncIterator[Path]:
    """Give a file to write to, where there can be one; no more people may read it than its source.

    That holds before the first byte is in it. Ours it stays, or nothing could be written.
    """
    if can_never_be(target.parent):
        raise Permanent(
            f"{target.parent} is no folder and cannot be made one; choose another",
            code="bad_folder",
        )
    async with ctx.output(target, kind=str(kind)) as part:
        # Where nothing can be written, the system says so best.
        part.touch(0o666 & (order.path.stat().st_mode | 0o600))
        yield part


def _published(
    ctx: Context, order: Order, target: Path, written: os.stat_result | None
) -> Path | None:
    """Return where it was published at last; None if it was not, because somebody was there."""
    place = ctx.outputs[0] if ctx.outputs else target
    if written is None or not place.exists():
        return None
    is_ours = order.on_exists != "skip" or os.path.samestat(place.stat(), written)
    return place if is_ours else None
