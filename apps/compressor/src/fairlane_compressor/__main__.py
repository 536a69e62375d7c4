"""Start the command, however it is started and ended."""

import os
import sys
from pathlib import Path
from typing import Final

_INTERRUPTED: Final = 130


def main() -> None:
    _have_streams()
    try:
        # To load everything takes a while, in which somebody may think better of it. A Ctrl-C then
        # ends it as one later would.
        from fairlane_compressor.commands import main as run

        run()
    except KeyboardInterrupt:
        sys.exit(_INTERRUPTED)


def _have_streams() -> None:
    """Open what was closed by whoever started this: a file of ours would get its number."""
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:
            setattr(sys, name, Path(os.devnull).open(mode))  # noqa: SIM115 - for good


if __name__ == "__main__":
    main()
