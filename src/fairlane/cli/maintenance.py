"""`fairlane migrate`, `prune` and `backup`: maintenance of a database."""

import os
from pathlib import Path
from typing import Annotated

import typer
from rich.progress import Progress

from fairlane import maintenance
from fairlane.cli.exit_codes import UsageProblem
from fairlane.cli.program_name import command_text
from fairlane.cli.terminal import Terminal
from fairlane.cli.times import SPAN_EXAMPLES, time_ago
from fairlane.core.lifecycle import FINAL
from fairlane.store.open_store import store_at
from fairlane.store.prune import Pruning
from fairlane.store.sqlite import SQLiteStore


async def migrate(
    database: str,
    terminal: Terminal,
    *,
    dry_run: Annotated[bool, typer.Option(help="Only list the missing migrations")] = False,
) -> None:
    """Migrate the schema of a database; a program also does this when it starts."""
    before = await maintenance.read_schema(database)
    if before.missing and not dry_run:
        await maintenance.migrate(database)
    if terminal.as_json:
        done = [] if dry_run else list(before.missing)
        terminal.print_json(
            {"from": before.version, "steps": list(before.steps), "missing": list(before.missing),
             "applied": done}
        )  # fmt: skip
        return
    for number, step in enumerate(before.steps, 1):
        is_new = number > before.version
        status = ("missing" if dry_run else "applied now") if is_new else "applied"
        terminal.print_line(f"{step}  {status}")


async def prune(
    database: str,
    terminal: Terminal,
    *,
    older_than: Annotated[
        str | None, typer.Option(help=f"Jobs that ended longer ago than this: {SPAN_EXAMPLES}")
    ] = None,
    keep: Annotated[
        int | None, typer.Option(help="Keep this number of the newest jobs", min=0)
    ] = None,
    state: Annotated[
        list[str] | None, typer.Option(help="Only this state; may be repeated")
    ] = None,
    queue: Annotated[str | None, typer.Option(help="Only this queue")] = None,
    dry_run: Annotated[bool, typer.Option(help="Only count the jobs")] = False,
) -> None:
    """Delete ended jobs with their results and logs; live jobs are never deleted.

    It may run while programs work. A program does the same regularly with keep_history.
    """
    if older_than is None and keep is None:
        raise UsageProblem("name the jobs to delete: --older-than 30d, --keep 10000, or both")
    pruning = Pruning(
        before=None if older_than is None else _parse_older_than(older_than),
        keep=keep,
        states=tuple(_check_final_state(name) for name in state or ()),
        queue=queue,
        dry_run=dry_run,
    )
    if (await maintenance.read_schema(database)).missing:
        raise UsageProblem(
            f"the schema of this database is not up to date; run {command_text('migrate')}"
        )
    store = store_at(database)
    await store.open()
    try:
        with Progress(
            console=terminal.error_console, transient=True, disable=not terminal.is_live
        ) as bar:
            line = bar.add_task("pruning", total=None)
            jobs = await maintenance.prune(
                store, pruning, lambda count: bar.update(line, description=f"{count:,} jobs")
            )
    finally:
        await store.close()
    if terminal.as_json:
        terminal.print_json({"jobs": jobs, "dry_run": dry_run})
    else:
        terminal.print_line(f"{jobs:,} jobs {'would be' if dry_run else 'are'} deleted")


def _parse_older_than(older_than: str) -> float:
    try:
        return time_ago(older_than).timestamp()
    except ValueError as error:
        raise UsageProblem(str(error)) from None


def _check_final_state(state: str) -> str:
    if state not in FINAL:
        raise UsageProblem(
            f'"{state}" is not a final state; expected one of {", ".join(sorted(FINAL))}'
        )
    return state


async def backup(
    database: str,
    terminal: Terminal,
    file: Annotated[Path, typer.Argument(help="The file to write")],
) -> None:
    """Copy a SQLite database to a file while programs work on it.

    For PostgreSQL it prints the pg_dump command to run.
    """
    is_file = isinstance(store_at(database), SQLiteStore)
    if is_file and not (file.parent.is_dir() and os.access(file.parent, os.W_OK | os.X_OK)):
        raise UsageProblem(f"{file} cannot be written: {file.parent} is not a writable folder")
    with Progress(
        console=terminal.error_console, transient=True, disable=not terminal.is_live
    ) as bar:
        line = bar.add_task("copying", total=None)

        def show_progress(done: int, pages: int) -> None:
            bar.update(line, completed=done, total=pages)

        try:
            size = await maintenance.back_up(database, file, show_progress)
        except OSError as error:
            raise UsageProblem(f"{file} cannot be written: {error.strerror or error}") from error
    if terminal.as_json:
        terminal.print_json({"file": str(file), "bytes": size})
    else:
        terminal.print_line(f"{file}: {size / 1024 / 1024:,.1f} MiB")
