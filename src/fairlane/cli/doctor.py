"""`fairlane doctor`: check a queue for problems, with advice for each."""

import asyncio
from collections.abc import AsyncIterator
from importlib.metadata import version
from typing import Any

import typer
from rich.text import Text

from fairlane.cli.command import run_command
from fairlane.cli.exit_codes import JOB_FAILED, ApiProblem, Unreachable
from fairlane.cli.program_name import command_text
from fairlane.cli.target import Target, open_target, target_from
from fairlane.cli.terminal import STYLES, Terminal
from fairlane.doctor import diagnose
from fairlane.store.diagnosis import Finding


def doctor(
    home: str | None,
    *,
    url: str | None = None,
    database: str | None = None,
    token: str | None = None,
    as_json: bool = False,
) -> None:
    """Check a queue: versions, schema, leader, workers, stuck jobs, clock, disk.

    It is read-only, and works also on a database that no program can open. The exit code is 1 if
    it finds a problem.
    """
    terminal = Terminal(as_json=as_json)

    async def run() -> None:
        target = target_from(url, database, token, home)
        findings = [found async for found in _print_findings(_examine(target), terminal)]
        wrong = [found for found in findings if found.level == "problem"]
        warned = [found for found in findings if found.level == "warning"]
        if terminal.as_json:
            terminal.print_json(
                {"ok": not wrong, "findings": [_as_dict(found) for found in findings]}
            )
        elif wrong or warned:
            counts = (_counted(len(wrong), "problem"), _counted(len(warned), "warning"))
            terminal.print_line(", ".join(counts))
        else:
            terminal.print_line("all is well")
        if wrong:
            raise typer.Exit(JOB_FAILED)

    run_command(run, terminal)


def _as_dict(finding: Finding) -> dict[str, Any]:
    return {name: getattr(finding, name) for name in finding.__struct_fields__}


async def _print_findings(
    findings: AsyncIterator[Finding], terminal: Terminal
) -> AsyncIterator[Finding]:
    """Print each finding as it arrives: a check that hangs may be the one with the problem."""
    async for finding in findings:
        if not terminal.as_json:
            mark = Text(f"{finding.level:<8}", style=STYLES[finding.level])
            terminal.print_line(mark, Text(f"{finding.subject:<16}", style="bold"), finding.message)
            if finding.advice:
                terminal.print_line(f"{'':24}→ {finding.advice}")
        yield finding


async def _examine(target: Target) -> AsyncIterator[Finding]:
    if target.database is not None:
        async for finding in diagnose(target.database):
            yield finding
        return
    yield Finding("Fairlane", "ok", f"version {version('fairlane')} on this machine")
    try:
        async for finding in _examine_server(target):
            yield finding
    except Unreachable as error:
        yield Finding("server", "problem", str(error))
    except ApiProblem as error:
        yield Finding("server", "problem", str(error), error.hint)


async def _examine_server(target: Target) -> AsyncIterator[Finding]:
    """Check a queue through its server; other checks need the database itself."""
    async with open_target(target) as client:
        health = await client.get("/healthz")
        yield Finding("server", "ok", f"{target.display_url} answers")
        led = health.get("led", True)
        yield Finding(
            "leader", "ok" if led else "warning", "a process leads" if led else "no process leads",
            "" if led else "start a program on the database; requests are stored until then",
        )  # fmt: skip
        queues, workers = await asyncio.gather(
            client.get("/api/queues"), client.get("/api/workers")
        )
        names = [worker["name"] for worker in workers["items"]]
        yield Finding("workers", "ok" if names else "warning", ", ".join(names) or "none")
        for queue in queues["items"]:
            waiting = sum(queue["counts"].values()) - queue["counts"].get("running", 0)
            if queue["paused"] and waiting:
                yield Finding(
                    "queues", "warning", f"{queue['name']} is paused with {waiting} jobs waiting",
                    f"{command_text('resume ' + queue['name'])} starts them",
                )  # fmt: skip
        yield Finding(
            "database", "ok", "checked through its server only",
            "use --database to check the schema, the disk and stuck jobs as well",
        )  # fmt: skip


def _counted(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"
