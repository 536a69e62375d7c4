"""Start the command; an early Ctrl-C, during the imports, exits as a later one does."""

import sys
from typing import Final

_INTERRUPTED: Final = 130


def main() -> None:
    try:
        from fairlane_extractor.commands import main as run

        run()
    except KeyboardInterrupt:
        sys.exit(_INTERRUPTED)


if __name__ == "__main__":
    main()
