"""What commands say: answers on stdout, and what is wrong in one sentence on stderr."""

import os
import shutil
import sys
from collections.abc import Sequence
from typing import Any, Final

import msgspec
import typer

from fairlane import BadParameters, Conflict, Fairlane, FairlaneError, NotFound, StoreError
from fairlane_archiver.rows import Row
from fairlane_archiver.table import table, troubles, visible, wanted

NAME: Final = "fairlane-archive"


def told(error: FairlaneError) -> int:
    """Say what is wrong on stderr and return the exit code of its kind, as Fairlane's own verbs."""
    note(message(error))
    match error:
        case NotFound():
            return 3
        case Conflict():
            return 4
        case StoreError():
            return 5
        case _:
            return 2


def message(error: FairlaneError) -> str:
    if isinstance(error, BadParameters):
        return "; ".join(f"{problem['where']}: {problem['message']}" for problem in error.problems)
    return str(error)


def note(text: str) -> None:
    typer.echo(f"{NAME}: {visible(text)}", err=True)


def answer(value: Any, said: str, *, as_json: bool) -> None:
    typer.echo(msgspec.json.encode(value).decode() if as_json else visible(said))


def say(
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
            lines.append(wanted(row))
        lines += troubles(row, in_full=in_full)
    typer.echo("\n".join(lines))


async def warn_if_nobody_works(app: Fairlane) -> None:
    if not await app.workers.list():
        note(f"nobody works on it; `{NAME} serve` does")
