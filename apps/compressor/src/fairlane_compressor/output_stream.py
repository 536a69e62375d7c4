"""An output stream that ignores a closed terminal."""

import os
from typing import Any, TextIO


class TolerantStream:
    """A stream that discards output once its reader is gone, instead of raising."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream

    def write(self, text: str) -> int:
        try:
            return self._stream.write(text)
        except (OSError, ValueError):  # a closed stream raises ValueError
            self._fall_silent()
            return len(text)

    def flush(self) -> None:
        try:
            self._stream.flush()
        except (OSError, ValueError):
            self._fall_silent()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)

    def _fall_silent(self) -> None:
        """Discard the buffered output, or Python would report an error at exit."""
        try:
            number = self._stream.fileno()
        except (OSError, ValueError):
            return
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, number)
        os.close(nowhere)
