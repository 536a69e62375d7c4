"""`fairlane migrate`, `prune` and `backup`: what keeps a database well."""

import os
from pathlib import Path
from typing import Annotated

import typer
from rich.progress import Progress

from fairlane import maintenance
from fairlane.cli.exit_codes import Misused
from fairlane.cli.program_name import command
from fairlane.cli.terminal import Terminal
from fairlane.cli.times import SPAN_EXAMPLES, ago
from fairlane.core.lifecycle import FINAL
from fairlane.store.open_store import store_at
from fairlane.store.prune import Pruning
from fairlane.store.sqlite import SQLiteStore


async def migrate(
    database: str,
    terminal: Terminal,
    *,
    dry_run: Annotated[bool, typer.Option(help="Only show what would be done")] = False,
) -> None:
    """Bring the schema of a database up to date; a program does so by itself when it starts."""
    before = await maintenance.read_schema(database)
    if before.missing and not dry_run:
        await maintenance.migrate(database)
    if terminal.as_json:
        done = [] if dry_run else list(before.missing)
        terminal.value(
            {"from": before.version, "steps": list(before.steps), "missing": list(before.missing),
             "applied": done}
        )  # fmt: skip
        return
    for number, step in enumerate(before.steps, 1):
        is_new = number > before.version
        said = ("missing" if dry_run else "applied now") if is_new else "applied"
        terminal.say(f"{step}  {said}")


async def prune(
    database: str,
    terminal: Terminal,
    *,
    older_than: Annotated[
        str | None, typer.Option(help=f"Those that ended so long ago: {SPAN_EXAMPLES}")
    ] = None,
    keep: Annotated[int | None, typer.Option(help="All but the newest so many", min=0)] = None,
    state: Annotated[list[str] | None, typer.Option(help="Only these; may be repeated")] = None,
    queue: Annotated[str | None, typer.Option(help="Only this queue")] = None,
    dry_run: Annotated[bool, typer.Option(help="Only count them")] = False,
) -> None:
    """Forget ended jobs for good, with their results and logs; live jobs are never touched.

    It may run while programs work. A program does the same by itself with keep_history.
    """
    if older_than is None and keep is None:
        raise Misused("say which jobs to forget: --older-than 30d, --keep 10000, or both")
    pruning = Pruning(
        before=None if older_than is None else _before(older_than),
        keep=keep,
        states=tuple(_known(name) for name in state or ()),
        queue=queue,
        dry_run=dry_run,
    )
    if (await maintenance.read_schema(database)).missing:
        raise Misused(f"the schema of this database is not up to date; run {command('migrate')}")
    store = store_at(database)
    await store.open()
    try:
        with Progress(console=terminal.errors, transient=True, disable=not terminal.is_live) as bar:
            line = bar.add_task("pruning", total=None)
            jobs = await maintenance.prune(
                store, pruning, lambda count: bar.update(line, description=f"{count:,} jobs")
            )
    finally:
        await store.close()
    if terminal.as_json:
        terminal.value({"jobs": jobs, "dry_run": dry_run})
    else:
        terminal.say(f"{jobs:,} jobs {'would be' if dry_run else 'are'} forgotten")


def _before(older_than: str) -> float:
    try:
        return ago(older_than).timestamp()
    except ValueError as error:
        raise Misused(str(error)) from None


def _known(state: str) -> str:
    if state not in FINAL:
        raise Misused(f'"{state}" is not how a job ends; known: {", ".join(sorted(FINAL))}')
    return state


async def backup(
    database: str,
    terminal: Terminal,
    file: Annotated[Path, typer.Argument(help="Where the copy goes")],
) -> None:
    """Copy a database on SQLite to a file while programs work on it.

    For PostgreSQL it says which pg_dump to run.
    """
    is_file = isinstance(store_at(database), SQLiteStore)
    if is_file and not (file.parent.is_dir() and os.access(file.parent, os.W_OK | os.X_OK)):
        raise Misused(f"{file} cannot be made: {file.parent} is not a folder that can be written")
    with Progress(console=terminal.errors, transient=True, disable=not terminal.is_live) as bar:
        line = bar.add_task("copying", total=None)

        def tell(done: int, pages: int) -> None:
            bar.update(line, completed=done, total=pages)

        try:
            size = await maintenance.back_up(database, file, tell)
        except OSError as error:
            raise Misused(f"{file} cannot be made: {error.strerror or error}") from error
    if terminal.as_json:
        terminal.value({"file": str(file), "bytes": size})
    else:
        terminal.say(f"{file}: {size / 1024 / 1024:,.1f} MiB")
