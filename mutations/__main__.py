"""`python -m mutations`: remove each guard in turn and check that a test notices."""

import argparse
import asyncio
import os
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

import msgspec
from rich.console import Console
from rich.markup import escape
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    TaskID,
    TextColumn,
    TimeElapsedColumn,
)
from rich.table import Table

from mutations.bench import ROOT, Copy, Finding, Spoiled, try_one
from mutations.guards import MUTATIONS
from mutations.mutation import Command, Mutation, OutOfDate, together

console = Console(stderr=True)
_LONGEST = 100


def main() -> int:
    given = _arguments()
    chosen = [one for one in MUTATIONS if not given.only or one.name in given.only]
    if given.list:
        _list(chosen)
        return 0
    try:
        for mutation in chosen:
            mutation.applied_to(ROOT)
        findings = asyncio.run(_try_all(chosen, given.processes))
    except OutOfDate as error:
        console.print(f"[red]The list is out of date.[/] {error}", highlight=False)
        return 2
    except Spoiled as error:
        console.print(f"[red]Without any mutation[/] {error}", highlight=False)
        return 2
    if given.json:
        sys.stdout.write(msgspec.json.format(msgspec.json.encode(findings)).decode() + "\n")
    else:
        _show(findings)
    if any(finding.verdict == "broken" for finding in findings):
        return 2
    return 1 if any(finding.verdict == "survived" for finding in findings) else 0


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m mutations",
        description="Remove each guard in turn, in a copy, and check that a test notices.",
        epilog="Exit code 1: a removal went unnoticed; 2: a mutation could not be tried.",
    )
    parser.add_argument(
        "--only", action="append", metavar="NAME", help="only this mutation; repeatable"
    )
    parser.add_argument("--list", action="store_true", help="show the list and run no mutation")
    parser.add_argument("--json", action="store_true", help="print the findings as JSON")
    parser.add_argument("--processes", type=int, default=os.cpu_count() or 1)
    given = parser.parse_args()
    known = {mutation.name for mutation in MUTATIONS}
    for name in given.only or ():
        if name not in known:
            parser.error(f"there is no mutation {name!r}; see --list")
    return given


def _list(mutations: Sequence[Mutation]) -> None:
    table = Table("mutation", "what the guard is for", "who must notice", show_lines=True)
    for mutation in mutations:
        commands = "\n".join(str(command) for command in mutation.noticed_by)
        table.add_row(mutation.name, f"{mutation.guards}\n[dim]{mutation.file}[/]", commands)
    Console().print(table)


async def _try_all(mutations: Sequence[Mutation], processes: int) -> list[Finding]:
    """Try each mutation in a separate copy, several in parallel, once the unchanged copy has
    passed."""
    turn = asyncio.Semaphore(processes)
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn())
    with (
        tempfile.TemporaryDirectory(prefix="mutations-", ignore_cleanup_errors=True) as name,
        Progress(*columns, TimeElapsedColumn(), console=console, transient=True) as progress,
    ):
        folder = Path(name)
        commands = together(command for one in mutations for command in one.noticed_by)
        bar = progress.add_task("without any mutation", total=len(commands))
        original = Copy(folder / "0")  # the working tree may change meanwhile
        await _pass_first(original, commands, turn, progress, bar)
        bar = progress.add_task("mutations", total=len(mutations))

        async def one(number: int, mutation: Mutation) -> Finding:
            async with turn:
                finding = await try_one(mutation, folder / str(number), original.folder)
            progress.advance(bar)
            return finding

        return await asyncio.gather(*(one(n, m) for n, m in enumerate(mutations, 1)))


async def _pass_first(
    copy: Copy,
    commands: Sequence[Command],
    turn: asyncio.Semaphore,
    progress: Progress,
    bar: TaskID,
) -> None:
    """Raise unless every command passes on the unchanged code; otherwise its failure proves
    nothing."""
    await copy.check()

    async def one(command: Command) -> None:
        async with turn:
            run = await copy.run(command)
        if run.code != 0:
            raise Spoiled(f"{command} does not pass: {command.finding(run.output)}")
        progress.advance(bar)

    await asyncio.gather(*(one(command) for command in commands))


def _show(findings: Sequence[Finding]) -> None:
    table = Table("mutation", "noticed by", "seconds", title="Guards removed, one at a time")
    table.columns[2].justify = "right"
    for finding in findings:
        what = escape(_short(finding.what))
        if finding.verdict != "noticed":
            what = f"[red]{'unnoticed' if finding.verdict == 'survived' else what}[/]"
        table.add_row(finding.mutation, what, f"{finding.seconds:.1f}")
    out = Console()
    out.print(table)
    noticed = sum(finding.verdict == "noticed" for finding in findings)
    by_worlds = sum("mutations.worlds" in finding.command for finding in findings)
    out.print(f"{noticed} of {len(findings)} were noticed, {by_worlds} of them by simulated worlds")


def _short(what: str) -> str:
    """Return a test as its sentence, and shorten other findings."""
    file, _, test = what.partition("::")
    if test:
        return f"{Path(file).parent.name}: {test.removeprefix('test_').replace('_', ' ')}"
    return what if len(what) <= _LONGEST else f"{what[:_LONGEST]} …"


if __name__ == "__main__":
    sys.exit(main())
