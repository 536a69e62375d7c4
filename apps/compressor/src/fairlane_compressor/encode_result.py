"""What an encoder has made of a source."""

from msgspec import Struct


class EncodeResult(Struct, kw_only=True):
    """The figures that only the encoder knows; sizes are read from the files."""

    format: str
    width: int | None = None
    height: int | None = None
    score: float | None = None  # SSIM: 1 is the same, below 0.9 is seen
    note: str = ""
