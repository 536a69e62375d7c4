"""The progress of ffmpeg, from the lines that it prints every quarter of a second."""

import math

from fairlane import Context


class FfmpegProgress:
    """Collects `name=value` lines; a line `progress=` ends each group."""

    def __init__(
        self, ctx: Context, *, seconds: float | None, start: float = 0.0, share: float = 100.0,
        prefix: str = "",
    ) -> None:  # fmt: skip
        self._ctx = ctx
        self._seconds = seconds
        self._start = start
        self._share = share
        self._prefix = prefix
        self._told: dict[str, str] = {}

    def line(self, text: str) -> None:
        name, _, value = text.partition("=")
        self._told[name.strip()] = value.strip()
        if name.strip() == "progress":
            self._tell()

    def _tell(self) -> None:
        # The first values may be N/A or negative.
        done = max(0.0, _number(self._told.get("out_time_us")) / 1e6)
        speed = _number(self._told.get("speed", "").removesuffix("x"))
        size = int(max(0.0, _number(self._told.get("total_size"))))
        words = [f"{size / 1e6:.1f} MB so far"]
        figures: dict[str, float] = {"bytes_so_far": size, "speed": speed}
        if self._told.get("total_size") == "N/A":  # no file is written
            del words[0], figures["bytes_so_far"]
        if self._seconds is not None and speed > 0:
            has_ended = self._told["progress"] == "end"
            left = 0.0 if has_ended else max(0.0, self._seconds - done) / speed
            figures["remaining_seconds"] = math.ceil(left)
            words.insert(0, f"{left / 60:.0f} min left" if left > 120 else f"{left:.0f} s left")
        if speed > 0:
            words.append(f"{speed:.1f} × speed")
        self._ctx.report(**figures)
        if self._seconds is not None:
            part = 1.0 if self._told["progress"] == "end" else min(1.0, done / self._seconds)
            percent = self._start + self._share * part
            self._ctx.progress(percent, self._prefix + ", ".join(words))


def _number(text: str | None) -> float:
    try:
        value = float(text or "nan")
    except ValueError:
        return 0.0
    return value if math.isfinite(value) else 0.0
