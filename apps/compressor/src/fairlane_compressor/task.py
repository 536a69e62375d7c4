"""The task: compress one source into one smaller file, or keep the original."""

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
from fairlane_compressor.formats import Format, choose_format
from fairlane_compressor.order import Order
from fairlane_compressor.picture import PictureEncoder
from fairlane_compressor.targets import can_never_be, target_of

T = TypeVar("T")


class NotSmaller(Exception):
    """The result is not smaller than the source, so it is discarded."""


class Written(Struct):
    made: EncodeResult
    kept: str  # "result", or "original" where that was not larger
    file: os.stat_result | None  # the written file, or None


class CompressTask:
    """Executes orders for one app."""

    def __init__(self) -> None:
        self.estimates = Estimates()
        self.picture_encoder = PictureEncoder()

    async def execute(self, ctx: Context, order: Order) -> dict[str, Any]:
        """Compress a source and return the figures; errors are reported in plain words."""
        try:
            return await self._compress(ctx, order)
        except OSError as error:
            raise errors.from_system_error(error, path=order.path) from error

    async def _compress(self, ctx: Context, order: Order) -> dict[str, Any]:
        began = time.monotonic()
        kind = kind_of(order.path)
        before = (
            # A folder may have a million files.
            await asyncio.to_thread(self._size_of, order.path, kind)
            if kind is Kind.FOLDER
            else self._size_of(order.path, kind)
        )
        format = choose_format(order.format, kind, order.path.suffix)
        target = target_of(order, kind)
        if ctx.outputs and ctx.outputs[0].suffix == target.suffix:
            target = ctx.outputs[0]  # the reserved path, perhaps with a number
        written = await self._written(ctx, order, kind, format, target, before)
        made = written.made
        output = _published(ctx, order, target, written.file)
        after = before if output is None else output.stat().st_size
        self.estimates.forget(order)
        figures = {
            "before_bytes": before, "after_bytes": after, "saved_bytes": before - after,
            "saved_percent": round(100 * (before - after) / before, 1),
        }  # fmt: skip
        ctx.report(**figures)  # the console plots these over time
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
        """Write the result, or a copy of the original where one is wanted."""
        made, file = EncodeResult(format=format.name), None
        try:
            if format.kind is Kind.PICTURE:
                # Encode while the output is prepared, because pictures take only a short time.
                async with (
                    self.picture_encoder.start_encoding(order, format) as picture,
                    _output(ctx, order, target, kind) as part,
                ):
                    below = before if order.format == "auto" else None
                    writing = picture.written(part, below=below)
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
                # With a separate result folder, the folder must be complete.
                async with _output(ctx, order, target, kind) as part:
                    await file_copy.copy(ctx, order.path, part, size=before)
                    file = part.stat()
            return Written(made, "original", file)
        return Written(made, "result", file)

    async def _learning(self, order: Order, part: Path, work: Awaitable[T]) -> T:
        """Record the written bytes if the disk fills up."""
        try:
            return await work
        except errors.DiskFull:
            self.estimates.learn(order, part)
            raise


@asynccontextmanager
async def _output(ctx: Context, order: Order, target: Path, kind: Kind) -> AsyncIterator[Path]:
    """Yield a file to write to, with no wider permissions than its source.

    The permissions are set before the first byte is written; the owner can always write.
    """
    if can_never_be(target.parent):
        raise Permanent(
            f"{target.parent} is no folder and cannot be made one; choose another",
            code="bad_folder",
        )
    async with ctx.output(target, kind=str(kind)) as part:
        # If the folder is not writable, the system error is the clearest message.
        part.touch(0o666 & (order.path.stat().st_mode | 0o600))
        yield part


def _published(
    ctx: Context, order: Order, target: Path, written: os.stat_result | None
) -> Path | None:
    """Return the published path; None if the target existed and the job did not overwrite it."""
    place = ctx.outputs[0] if ctx.outputs else target
    if written is None or not place.exists():
        return None
    is_ours = order.on_exists != "skip" or os.path.samestat(place.stat(), written)
    return place if is_ours else None
