"""What a verb says: tables and colours for people, JSON for scripts, trouble on stderr."""

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

from fairlane.cli.exit_codes import Unwritable
from fairlane.cli.program_name import our_name
from fairlane.logs import VISIBLE

_VISIBLE_LINES: Final = {code: shown for code, shown in VISIBLE.items() if chr(code) != "\n"}

WIDE: Final = 200  # columns where nobody looks: a script is not helped by lines that are cut

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


class Screen(Console):
    """A console that nothing steers which others wrote: names, messages, results of jobs."""

    def render(
        self, renderable: RenderableType, options: ConsoleOptions | None = None
    ) -> Iterable[Segment]:
        for segment in super().render(renderable, options):
            if segment.control:  # which are the console's own
                yield segment
            else:
                yield Segment(segment.text.translate(_VISIBLE_LINES), segment.style)

    def on_broken_pipe(self) -> None:
        """Leave it to the command, which ends well: whoever read has seen enough."""
        raise BrokenPipeError


class Terminal:
    """`as_json` asks for one JSON value instead of words; what is shown then is for scripts."""

    def __init__(self, *, as_json: bool = False) -> None:
        self.as_json = as_json
        is_seen = sys.stdout is not None and sys.stdout.isatty()
        width = None if is_seen or "COLUMNS" in os.environ else WIDE
        self.console = Screen(width=width, highlight=False, soft_wrap=False, emoji=False)
        self.errors = Screen(stderr=True, highlight=False, emoji=False, width=width)

    @property
    def is_live(self) -> bool:
        """Tell whether lines can be drawn again, which is how progress is shown."""
        is_drawn = self.console.is_terminal and not self.console.is_dumb_terminal
        return is_drawn and not self.as_json

    def value(self, value: Any) -> None:
        """Give a script its answer: one JSON value on one line.

        It is in ASCII, so that it is valid whatever can be written there.
        """
        with _writing():
            sys.stdout.write(json.dumps(value, separators=(",", ":")) + "\n")
            sys.stdout.flush()

    def say(self, *parts: str | Text) -> None:
        """Say a sentence to a person; a script does not hear it."""
        if not self.as_json:
            with _writing():
                self.console.print(Text.assemble(*parts), soft_wrap=True)

    def hint(self, text: str) -> None:
        """Say something beside the answer, where it does not get into a pipe."""
        if not self.as_json:
            self._warn(text)

    def trouble(self, message: str, hint: str = "") -> None:
        """Say in one line what is wrong, to a script as well."""
        self._warn(f"{our_name()}: {message}" + (f" ({hint})" if hint else ""))

    def _warn(self, text: str) -> None:
        try:
            self.errors.print(Text(visible(text)), soft_wrap=True)
        except OSError:
            _let_go(sys.stderr)  # the exit code says it as well

    def table(self, columns: Sequence[str], rows: Iterable[Sequence[str | Text]]) -> None:
        with _writing():
            self.console.print(self.made_table(columns, rows))

    def made_table(self, columns: Sequence[str], rows: Iterable[Sequence[str | Text]]) -> Table:
        """Make a table whose first column is never cut: it holds what is copied from it.

        The others may be narrowed, which rich does to columns that may wrap; their cells do not.
        """
        table = Table(box=None, pad_edge=False, header_style="bold", show_edge=False)
        for number, column in enumerate(columns):
            table.add_column(column, no_wrap=number == 0)
        for row in rows:
            table.add_row(*(_cell(cell) for cell in row))
        return table

    def facts(self, facts: Iterable[tuple[str, str | Text]]) -> None:
        """Show what is known as a list of names and values; what is empty is left out."""
        table = Table.grid(padding=(0, 2))
        table.add_column(style="bold", no_wrap=True)
        table.add_column(overflow="fold")
        for name, value in facts:
            if str(value):
                table.add_row(
                    name,
                    value if isinstance(value, Text) else Text(value.translate(_VISIBLE_LINES)),
                )
        with _writing():
            self.console.print(table)


@contextmanager
def _writing() -> Iterator[None]:
    """Tell trouble with the standard output from any other."""
    try:
        yield
    except BrokenPipeError:
        _let_go(sys.stdout)
        raise
    except OSError as error:
        _let_go(sys.stdout)
        raise Unwritable(
            f"the answer cannot be written ({error.strerror or error}); what was asked for may be "
            "done all the same"
        ) from error


def _let_go(stream: TextIO) -> None:
    """Write what is left nowhere, or the interpreter fails over it once more when it ends."""
    with suppress(OSError, ValueError):  # no file of the system's: nobody comes back to it
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, stream.fileno())
        os.close(nowhere)


def _cell(cell: str | Text) -> Text:
    text = cell if isinstance(cell, Text) else Text(visible(cell))
    text.no_wrap, text.overflow = True, "ellipsis"
    return text


def visible(text: str) -> str:
    """Show what would steer the terminal, or begin a line that is not ours, as it is written."""
    return text.translate(VISIBLE)


def state(name: str) -> Text:
    return Text(name, style=STYLES.get(name, ""))


def compact(value: Any) -> str:
    """Write a value of a job as a person would type it."""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def named(values: dict[str, Any]) -> str:
    return ", ".join(f"{name}={compact(value)}" for name, value in values.items())
