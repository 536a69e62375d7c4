"""The name of this command line: programs offer the same verbs under their own names."""

import sys
from pathlib import Path

_name = "fairlane"


def set_program_name(name: str | None) -> None:
    """Set the name; None uses the name of the started program."""
    global _name  # a process has one command line
    _name = name or Path(sys.argv[0]).name


def program_name() -> str:
    return _name


def command_text(words: str) -> str:
    """Return a command in backquotes, with the name of this program, to show in a message."""
    return f"`{_name} {words}`"
