"""What this command line is called: programs bring the same verbs under names of their own."""

import sys
from pathlib import Path

_name = "fairlane"


def call_ourselves(name: str | None) -> None:
    """Take a name, or that of the program that was started."""
    global _name  # a process has one command line
    _name = name or Path(sys.argv[0]).name


def our_name() -> str:
    return _name


def command(words: str) -> str:
    """Write a command as whoever reads this would type it."""
    return f"`{_name} {words}`"
