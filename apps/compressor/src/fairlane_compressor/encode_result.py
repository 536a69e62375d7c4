"""The result of an encoder."""

from msgspec import Struct


class EncodeResult(Struct, kw_only=True):
    """Figures that only the encoder knows; sizes are read from the files."""

    format: str
    width: int | None = None
    height: int | None = None
    score: float | None = None  # SSIM: 1 is identical, below 0.9 is visible
    note: str = ""
