"""Presets for users, as parameters for encoders."""

from typing import Final, Literal

from msgspec import Struct

PresetName = Literal["best", "balanced", "small", "tiny"]


class Preset(Struct, frozen=True, kw_only=True):
    """Qualities are 1 to 100; a limit of None leaves the size of the picture unchanged."""

    title: str
    video_quality: int
    picture_quality: int
    sound_kilobits: int
    video_lines: int | None = None  # pixels of the shorter side
    picture_side: int | None = None  # pixels of the longer side
    colours: int | None = None  # of a PNG, which has no quality setting


PRESETS: Final[dict[str, Preset]] = {
    "best": Preset(
        title="looks the same, even up close",
        video_quality=85, picture_quality=90, sound_kilobits=192,
    ),
    "balanced": Preset(
        title="looks the same to most people",
        video_quality=75, picture_quality=80, sound_kilobits=128,
    ),
    "small": Preset(
        title="for sending: 720 lines, pictures of 2048 pixels",
        video_quality=64, picture_quality=68, sound_kilobits=96,
        video_lines=720, picture_side=2048, colours=256,
    ),
    "tiny": Preset(
        title="the smallest that is still watchable: 480 lines, pictures of 1280 pixels",
        video_quality=50, picture_quality=50, sound_kilobits=64,
        video_lines=480, picture_side=1280, colours=128,
    ),
}  # fmt: skip
