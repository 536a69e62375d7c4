"""Pack files and folders in a child process that ends with the job."""

import json
import sys
from pathlib import Path
from typing import Any, Final

from fairlane import Context, Permanent
from fairlane_compressor import errors
from fairlane_compressor.encode_result import EncodeResult
from fairlane_compressor.formats import Format
from fairlane_compressor.order import Order

_CHILD: Final = str(Path(__file__).with_name("pack_child.py"))


async def encode(
    ctx: Context, order: Order, format: Format, part: Path, *, size: int
) -> EncodeResult:
    """Write the archive to `part`; `size` is the number of bytes to read."""
    if order.target_bytes is not None or order.quality is not None:
        raise Permanent(
            f"{format.name} loses nothing, so there is no quality and no size to choose; leave "
            "them out",
            code="bad_format",
        )
    told: dict[str, Any] = {}

    def line(text: str) -> None:
        told.update(json.loads(text))
        read = told.get("read", 0)
        ctx.report(bytes_so_far=_size(part))
        ctx.progress(100 * read / max(1, size), f"{read / 1e6:.1f} of {size / 1e6:.1f} MB read")

    wanted = {"source": str(order.path), "part": str(part), "format": format.name,
              "preset": order.preset}  # fmt: skip
    done = await ctx.run(
        [sys.executable, "-P", _CHILD],
        input=json.dumps(wanted).encode() + b"\n",
        on_stdout=line,
        check=False,
        grace_seconds=0,
    )
    if "errno" in told:
        raise errors.from_system_error(
            OSError(told["errno"], told["message"], told["path"]), path=part.parent
        )
    if "refused" in told:
        raise Permanent(f"{order.path}: {told['refused']}", code="bad_path")
    if done.returncode != 0:
        raise errors.encoding_failed(
            order.path, done.stderr_tail.strip()[-400:] or "no reason was given"
        )
    return EncodeResult(format=format.name)


def _size(path: Path) -> int:
    try:
        return path.stat().st_size
    except OSError:
        return 0
