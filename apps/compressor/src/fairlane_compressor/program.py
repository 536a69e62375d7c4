"""The program: one queue, one task. `fairlane_compressor.program:app` is what is served."""

import os
from functools import cache
from typing import TYPE_CHECKING, Annotated, Any, Final

from pydantic import Field

from fairlane import Context, Fairlane, Retry, free_space
from fairlane_compressor.data_paths import data_folder, database_address
from fairlane_compressor.formats import FormatName
from fairlane_compressor.order import Folder, OnExists, Order, Sound, Source, lane_of
from fairlane_compressor.presets import PresetName
from fairlane_compressor.targets import folder_of, template
from fairlane_compressor.task import CompressTask

QUEUE: Final = "compress"
RETRY: Final = Retry(times=3, first_seconds=1, factor=2, cap_seconds=30)
STALL_SECONDS: Final = 1800.0
LARGEST_BYTES: Final = 10**18  # no file is larger


def build(
    database: str | None = None, *, recover: int = 1, retry: Retry = RETRY, **more: Any
) -> Fairlane:
    """Make the app: everything it knows is in its database.

    `recover` says how often a job that was running when the program died is put back by itself; 0
    leaves it failed, for somebody to retry. What else is given goes to `Fairlane`.
    """
    app = Fairlane(database or database_address(), **more)
    app.queue(QUEUE, max_concurrent=1, on_conflict="merge")
    press = CompressTask()

    @app.task(
        queue=QUEUE,
        lane=lane_of,
        retry=retry,
        recover=recover,
        outputs=[template],
        on_output="{on_exists}",
        preconditions=[free_space(folder_of, at_least=press.estimates.needed)],
        stall_seconds=STALL_SECONDS,
    )
    async def compress(
        ctx: Context,
        source: Annotated[Source, Field(description="The file or folder to make smaller")],
        preset: Annotated[
            PresetName,
            Field(description="How small: best and balanced look the same, small is for sending"),
        ] = "balanced",
        format: Annotated[
            FormatName,
            Field(description="What to make of it; auto keeps the kind of file it is"),
        ] = "auto",
        quality: Annotated[
            Annotated[int, Field(ge=1, le=100)] | None,
            Field(description="From 1 (smallest) to 100 (best), instead of the preset's"),
        ] = None,
        target_bytes: Annotated[
            Annotated[int, Field(ge=1, le=LARGEST_BYTES)] | None,
            Field(description="How many bytes the result may have at most"),
        ] = None,
        sound: Annotated[
            Sound, Field(description="What becomes of the sound of a video")
        ] = "encode",
        folder: Annotated[
            Folder | None, Field(description="The folder for the result; else that of the source")
        ] = None,
        on_exists: Annotated[
            OnExists, Field(description="What to do where a file of that name is already")
        ] = "rename",
        score: Annotated[
            bool, Field(description="Compare the result with the source (SSIM: 1 is the same)")
        ] = False,
    ) -> dict[str, Any]:
        """Make a smaller file of a video, a picture, another file or a folder.

        The source is never changed. Without a `folder` the result is put beside it.
        """
        order = Order(
            source=source, preset=preset, format=format, quality=quality,
            target_bytes=target_bytes, sound=sound, folder=folder, on_exists=on_exists,
            score=score,
        )  # fmt: skip
        return await press.carry_out(ctx, order)

    return app


if TYPE_CHECKING:
    app: Fairlane


@cache
def usual() -> Fairlane:
    """Make the app of this user; `FAIRLANE_COMPRESS_RECOVER=0` leaves crashed jobs to them."""
    recovers = os.environ.get("FAIRLANE_COMPRESS_RECOVER", "1") not in ("0", "no", "off")
    return build(recover=int(recovers), uploads=data_folder() / "uploads")


def __getattr__(name: str) -> Fairlane:
    # Made when it is asked for: who only wants `build` has no use for a folder at home.
    if name == "app":
        return usual()
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
