"""The task: one source in, one smaller file out, or the original kept."""

import asyncio
import shutil
import time
from collections.abc import Awaitable
from pathlib import Path
from typing import Any, TypeVar

from fairlane import Context, Permanent
from fairlane_compressor import pack, troubles, video
from fairlane_compressor.estimate import Estimates
from fairlane_compressor.formats import Format, chosen
from fairlane_compressor.kinds import Kind, kind_of
from fairlane_compressor.made import Made
from fairlane_compressor.order import Order
from fairlane_compressor.picture import Painter
from fairlane_compressor.targets import target_of

T = TypeVar("T")


class NotSmaller(Exception):
    """What came out is not smaller than what went in, so nobody wants it."""


class Press:
    """Carries out orders for one app."""

    def __init__(self) -> None:
        self.estimates = Estimates()
        self.painter = Painter()

    async def carry_out(self, ctx: Context, order: Order) -> dict[str, Any]:
        """Compress, and say what came of it; errors are told in plain words."""
        try:
            return await self._compress(ctx, order)
        except OSError as error:
            raise troubles.of_system(error, path=order.path) from error

    async def _compress(self, ctx: Context, order: Order) -> dict[str, Any]:
        began = time.monotonic()
        kind, before = self._looked_at(
            order.path
        )  # whose disk has just been asked how much is free
        format = chosen(order.format, kind, order.path.suffix)
        target = target_of(order, kind)
        if ctx.outputs and ctx.outputs[0].suffix == target.suffix:
            target = ctx.outputs[0]  # as it was taken, perhaps with a number
        made, is_result = await self._written(ctx, order, kind, format, target, before)
        output = _published(ctx, target)
        after = before if output is None else output.stat().st_size
        self.estimates.forget(order.path)
        return {
            "source": str(order.path), "output": None if output is None else str(output),
            "kept": "result" if is_result else "original", "kind": str(kind),
            "format": made.format, "before_bytes": before, "after_bytes": after,
            "saved_bytes": before - after,
            "saved_percent": round(100 * (before - after) / before, 1), "width": made.width,
            "height": made.height, "score": made.score, "note": made.note,
            "seconds": round(time.monotonic() - began, 3),
        }  # fmt: skip

    def _looked_at(self, source: Path) -> tuple[Kind, int]:
        kind = kind_of(source)
        if kind is not Kind.FOLDER and not source.is_file():
            raise Permanent(f"{source} is neither a file nor a folder", code="bad_path")
        size = self.estimates.source_bytes(source)
        if size == 0:
            raise Permanent(f"{source} is empty: there is nothing to compress", code="empty_input")
        return kind, size

    async def _written(
        self, ctx: Context, order: Order, kind: Kind, format: Format, target: Path, before: int
    ) -> tuple[Made, bool]:
        """Write the result; False says that the original was kept in its place."""
        made = Made(format=format.name)
        try:
            if format.kind is Kind.PICTURE:
                # It is encoded while its place is being prepared: pictures are short work.
                async with (
                    self.painter.painting(order, format) as painting,
                    ctx.output(target, kind=str(kind)) as part,
                ):
                    below = before if order.format == "auto" else None
                    writing = painting.written(part, below=below)
                    written = await self._learning(order, part, writing)
                    if written is None:
                        raise NotSmaller
                    made = written
            else:
                async with ctx.output(target, kind=str(kind)) as part:
                    part.touch()  # where nothing can be written, the system says so best
                    encoding = (
                        video.encode(ctx, order, format, part)
                        if format.kind is Kind.VIDEO
                        else pack.encode(ctx, order, format, part, size=before)
                    )
                    made = await self._learning(order, part, encoding)
                    if order.format == "auto" and part.stat().st_size >= before:
                        raise NotSmaller
        except NotSmaller:
            if target.parent != order.path.parent and target.suffix == order.path.suffix:
                # Whoever has everything put into another folder expects everything there.
                async with ctx.output(target, kind=str(kind)) as part:
                    await asyncio.to_thread(shutil.copyfile, order.path, part)
            return made, False
        return made, True

    async def _learning(self, order: Order, part: Path, work: Awaitable[T]) -> T:
        """Remember how far it came if the disk fills up."""
        try:
            return await work
        except troubles.DiskFull:
            self.estimates.learn(order.path, part)
            raise


def _published(ctx: Context, target: Path) -> Path | None:
    """Return where it was published at last; None if it was not, because somebody was there."""
    if ctx.outputs:
        return ctx.outputs[0] if ctx.outputs[0].exists() else None
    return target if target.exists() else None
