"""Output of commands: tables and colours for people, JSON for scripts, errors on stderr."""

import json
import os
import sys
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import Any, Final, TextIO

from rich.console import Console, ConsoleOptions, RenderableType
from rich.segment import Segment
from rich.table import Table
from rich.text import Text

from fairlane.cli.exit_codes import OutputUnwritable
from fairlane.cli.program_name import program_name
from fairlane.logs import VISIBLE

_VISIBLE_LINES: Final = {code: escaped for code, escaped in VISIBLE.items() if chr(code) != "\n"}

SCRIPT_COLUMNS: Final = 200  # the width without a terminal: a script needs whole lines

STYLES: Final = {
    "running": "cyan",
    "completed": "green",
    "done": "green",
    "failed": "red",
    "error": "red",
    "problem": "red",
    "cancelled": "yellow",
    "skipped": "dim",
    "blocked": "yellow",
    "warning": "yellow",
    "interrupted": "yellow",
    "retrying": "yellow",
    "paused": "yellow",
    "ok": "green",
}


class SafeConsole(Console):
    """A console that escapes control characters in names, messages and results of jobs."""

    def render(
        self, renderable: RenderableType, options: ConsoleOptions | None = None
    ) -> Iterable[Segment]:
        for segment in super().render(renderable, options):
            if segment.control:  # the console's own control sequences
                yield segment
            else:
                yield Segment(segment.text.translate(_VISIBLE_LINES), segment.style)

    def on_broken_pipe(self) -> None:
        """Let the command exit with 0: the reader of the pipe, such as `head`, has closed it."""
        raise BrokenPipeError


class Terminal:
    """The output of one command; with `as_json` it prints JSON values and no text."""

    def __init__(self, *, as_json: bool = False) -> None:
        self.as_json = as_json
        is_seen = sys.stdout is not None and sys.stdout.isatty()
        width = None if is_seen or "COLUMNS" in os.environ else SCRIPT_COLUMNS
        self.console = SafeConsole(width=width, highlight=False, soft_wrap=False, emoji=False)
        self.error_console = SafeConsole(stderr=True, highlight=False, emoji=False, width=width)

    @property
    def is_live(self) -> bool:
        """Whether lines can be redrawn, which progress bars need."""
        is_drawn = self.console.is_terminal and not self.console.is_dumb_terminal
        return is_drawn and not self.as_json

    def print_json(self, value: Any) -> None:
        """Print one JSON value on one line, in ASCII, which every output encoding can carry."""
        with _report_unwritable():
            sys.stdout.write(json.dumps(value, separators=(",", ":")) + "\n")
            sys.stdout.flush()

    def print_line(self, *parts: str | Text) -> None:
        """Print a line of text, unless `as_json` is set."""
        if not self.as_json:
            with _report_unwritable():
                self.console.print(Text.assemble(*parts), soft_wrap=True)

    def print_hint(self, text: str) -> None:
        """Print a note to stderr, so that it does not get into a pipe."""
        if not self.as_json:
            self._warn(text)

    def print_error(self, message: str, hint: str = "") -> None:
        """Print an error as one line to stderr, also with `as_json`."""
        self._warn(f"{program_name()}: {message}" + (f" ({hint})" if hint else ""))

    def _warn(self, text: str) -> None:
        try:
            self.error_console.print(Text(escape_control(text)), soft_wrap=True)
        except OSError:
            _redirect_to_devnull(sys.stderr)  # the exit code reports it too

    def print_table(
        self, columns: Sequence[str], rows: Iterable[Sequence[str | Text]], *, whole: int = 1
    ) -> None:
        with _report_unwritable():
            self.console.print(self.build_table(columns, rows, whole=whole))

    def build_table(
        self, columns: Sequence[str], rows: Iterable[Sequence[str | Text]], *, whole: int = 1
    ) -> Table:
        """Build a table whose first `whole` columns are never truncated: users copy ids from it.

        Rich narrows only columns that may wrap, so the other columns may, but their cells do not.
        """
        table = Table(box=None, pad_edge=False, header_style="bold", show_edge=False)
        for number, column in enumerate(columns):
            table.add_column(column, no_wrap=number < whole)
        for row in rows:
            table.add_row(*(_cell(cell) for cell in row))
        return table

    def print_fields(self, facts: Iterable[tuple[str, str | Text]]) -> None:
        """Print a list of names and values, without the empty ones."""
        table = Table.grid(padding=(0, 2))
        table.add_column(style="bold", no_wrap=True)
        table.add_column(overflow="fold")
        for name, value in facts:
            if str(value):
                table.add_row(
                    name,
                    value if isinstance(value, Text) else Text(value.translate(_VISIBLE_LINES)),
                )
        with _report_unwritable():
            self.console.print(table)


@contextmanager
def _report_unwritable() -> Iterator[None]:
    """Raise `OutputUnwritable` for an error of standard output, to tell it from other errors."""
    try:
        yield
    except BrokenPipeError:
        _redirect_to_devnull(sys.stdout)
        raise
    except OSError as error:
        _redirect_to_devnull(sys.stdout)
        raise OutputUnwritable(
            f"standard output cannot be written ({error.strerror or error}); the command itself "
            "may have been executed"
        ) from error


def _redirect_to_devnull(stream: TextIO) -> None:
    """Redirect a broken stream to /dev/null, or the interpreter fails to flush it at exit."""
    with suppress(OSError, ValueError):  # a stream without a file descriptor is not flushed
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, stream.fileno())
        os.close(nowhere)


def _cell(cell: str | Text) -> Text:
    text = cell if isinstance(cell, Text) else Text(escape_control(cell))
    text.no_wrap, text.overflow = True, "ellipsis"
    return text


def escape_control(text: str) -> str:
    """Escape control characters and line breaks, which could fake output of this command."""
    return text.translate(VISIBLE)


def styled_state(name: str) -> Text:
    return Text(name, style=STYLES.get(name, ""))


def format_value(value: Any) -> str:
    """Return text as it is, and other values as JSON."""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def format_values(values: dict[str, Any]) -> str:
    return ", ".join(f"{name}={format_value(value)}" for name, value in values.items())
