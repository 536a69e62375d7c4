"""Output of the commands: results on stdout, errors in one sentence on stderr."""

import os
import shutil
import sys
from collections.abc import Sequence
from typing import Any, Final

import msgspec
import typer

from fairlane import BadParameters, Conflict, Fairlane, FairlaneError, NotFound, StoreError
from fairlane_archiver.rows import Row
from fairlane_archiver.table import (
    describe_filters,
    describe_problems,
    printable,
    table,
)

NAME: Final = "fairlane-archive"


def report_error(error: FairlaneError) -> int:
    """Print an error on stderr and return the exit code of its kind, as Fairlane's own verbs do."""
    print_note(error_message(error))
    match error:
        case NotFound():
            return 3
        case Conflict():
            return 4
        case StoreError():
            return 5
        case _:
            return 2


def error_message(error: FairlaneError) -> str:
    if isinstance(error, BadParameters):
        return "; ".join(f"{problem['where']}: {problem['message']}" for problem in error.problems)
    return str(error)


def print_note(text: str) -> None:
    typer.echo(f"{NAME}: {printable(text)}", err=True)


def print_result(value: Any, said: str, *, as_json: bool) -> None:
    typer.echo(msgspec.json.encode(value).decode() if as_json else printable(said))


def print_rows(
    found: Sequence[Row], *, as_json: bool, says_wanted: bool = False, in_full: bool = False
) -> None:
    if as_json:
        typer.echo(msgspec.json.encode(found).decode())
        return
    if not found:
        typer.echo(f"no accounts; `{NAME} add ACCOUNT` adds one")
        return
    is_seen = sys.stdout.isatty() or "COLUMNS" in os.environ
    width = shutil.get_terminal_size().columns if is_seen else None
    lines = table(found, width=width)
    for row in found:
        if says_wanted:
            lines.append(describe_filters(row))
        lines += describe_problems(row, in_full=in_full)
    typer.echo("\n".join(lines))


async def warn_without_workers(app: Fairlane) -> None:
    if not await app.workers.list():
        print_note(f"nobody works on it; `{NAME} serve` does")
