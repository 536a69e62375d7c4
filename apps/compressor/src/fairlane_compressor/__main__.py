"""Start the command; a Ctrl-C while it is being loaded ends it as one later would."""

import sys
from typing import Final

_INTERRUPTED: Final = 130


def main() -> None:
    try:
        # To load everything takes a while, in which somebody may think better of it.
        from fairlane_compressor.commands import main as run

        run()
    except KeyboardInterrupt:
        sys.exit(_INTERRUPTED)


if __name__ == "__main__":
    main()
