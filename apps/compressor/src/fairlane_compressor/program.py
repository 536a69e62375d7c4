"""The app: one queue and one task. `fairlane_compressor.program:app` is the served app."""

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
LARGEST_BYTES: Final = 10**18  # above the size of any file


def build(
    database: str | None = None, *, recover: int = 1, retry: Retry = RETRY, **more: Any
) -> Fairlane:
    """Create the app; all its state is in its database.

    `recover` is how often a job that was running when the program died is restarted automatically;
    0 leaves it failed, for a manual retry. Other options are passed to `Fairlane`.
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
            Field(description="How small: best and balanced look unchanged, small is for sending"),
        ] = "balanced",
        format: Annotated[
            FormatName,
            Field(description="Output format; auto keeps the kind of the file"),
        ] = "auto",
        quality: Annotated[
            Annotated[int, Field(ge=1, le=100)] | None,
            Field(description="From 1 (smallest) to 100 (best), instead of the preset's quality"),
        ] = None,
        target_bytes: Annotated[
            Annotated[int, Field(ge=1, le=LARGEST_BYTES)] | None,
            Field(description="Largest size of the result in bytes"),
        ] = None,
        sound: Annotated[
            Sound, Field(description="Encode, keep or remove the sound of a video")
        ] = "encode",
        folder: Annotated[
            Folder | None,
            Field(description="The folder for the result; default: the folder of the source"),
        ] = None,
        on_exists: Annotated[
            OnExists, Field(description="When a file of that name exists")
        ] = "rename",
        score: Annotated[
            bool, Field(description="Compare the result with the source (SSIM; 1 is identical)")
        ] = False,
    ) -> dict[str, Any]:
        """Make a smaller file of a video, a picture, another file or a folder.

        The source is never changed. Without a `folder` the result is placed next to it.
        """
        order = Order(
            source=source, preset=preset, format=format, quality=quality,
            target_bytes=target_bytes, sound=sound, folder=folder, on_exists=on_exists,
            score=score,
        )  # fmt: skip
        return await press.execute(ctx, order)

    return app


if TYPE_CHECKING:
    app: Fairlane


@cache
def user_app() -> Fairlane:
    """Return the app of this user; with `FAIRLANE_COMPRESS_RECOVER=0` crashed jobs wait for a
    retry."""
    recovers = os.environ.get("FAIRLANE_COMPRESS_RECOVER", "1") not in ("0", "no", "off")
    return build(recover=int(recovers), uploads=data_folder() / "uploads")


def __getattr__(name: str) -> Fairlane:
    # Created on first access, because a caller of `build` alone needs no folder at home.
    if name == "app":
        return user_app()
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
