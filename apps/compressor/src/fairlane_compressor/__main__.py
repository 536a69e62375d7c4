"""Start the command; handle closed streams and an early Ctrl-C."""

import os
import sys
from pathlib import Path
from typing import Final

_INTERRUPTED: Final = 130


def main() -> None:
    _have_streams()
    try:
        # Imports take a while. A Ctrl-C during them exits as a later one does.
        from fairlane_compressor.commands import main as run

        run()
    except KeyboardInterrupt:
        sys.exit(_INTERRUPTED)


def _have_streams() -> None:
    """Open standard streams that the parent closed, so that no other file gets their numbers."""
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:
            setattr(sys, name, Path(os.devnull).open(mode))  # noqa: SIM115 - for good


if __name__ == "__main__":
    main()
