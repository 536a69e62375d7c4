"""`fairlane doctor`: is all well, and if not, what to do."""

import asyncio
from collections.abc import AsyncIterator
from importlib.metadata import version
from typing import Annotated, Any

import typer
from rich.text import Text

from fairlane.cli.command import carried_out
from fairlane.cli.exit_codes import JOB_FAILED, Refused, Unreachable
from fairlane.cli.program_name import command
from fairlane.cli.target import Target, open_target, target_from
from fairlane.cli.terminal import STYLES, Terminal
from fairlane.doctor import diagnose
from fairlane.store.diagnosis import Finding


def doctor(
    home: str | None,
    *,
    url: Annotated[str | None, typer.Option("--url", help="A server, also FAIRLANE_URL")] = None,
    database: Annotated[
        str | None, typer.Option("--database", help="A database, also FAIRLANE_DATABASE")
    ] = None,
    token: Annotated[
        str | None, typer.Option("--token", help="The server's token, also FAIRLANE_TOKEN")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Answer with JSON")] = False,
) -> None:
    """Look a queue over: versions, schema, leader, workers, stuck jobs, clock, disk.

    Nothing is changed, and it works where nothing else does. The exit code is 1 if something is
    wrong that somebody has to mend.
    """
    terminal = Terminal(as_json=as_json)

    async def run() -> None:
        place = target_from(url, database, token, home)
        findings = [found async for found in _shown(_findings(place), terminal)]
        wrong = [found for found in findings if found.level == "problem"]
        warned = [found for found in findings if found.level == "warning"]
        if terminal.as_json:
            terminal.value({"ok": not wrong, "findings": [_plain(found) for found in findings]})
        elif wrong or warned:
            terminal.say(f"{len(wrong)} problems, {len(warned)} warnings")
        else:
            terminal.say("all is well")
        if wrong:
            raise typer.Exit(JOB_FAILED)

    carried_out(run, terminal)


def _plain(finding: Finding) -> dict[str, Any]:
    return {name: getattr(finding, name) for name in finding.__struct_fields__}


async def _shown(findings: AsyncIterator[Finding], terminal: Terminal) -> AsyncIterator[Finding]:
    """Say each finding as it comes: the one that takes long may be the one to see."""
    async for finding in findings:
        if not terminal.as_json:
            mark = Text(f"{finding.level:<8}", style=STYLES[finding.level])
            terminal.say(mark, Text(f"{finding.subject:<16}", style="bold"), finding.message)
            if finding.advice:
                terminal.say(f"{'':24}→ {finding.advice}")
        yield finding


async def _findings(place: Target) -> AsyncIterator[Finding]:
    if place.database is not None:
        async for finding in diagnose(place.database):
            yield finding
        return
    yield Finding("Fairlane", "ok", f"version {version('fairlane')} here")
    try:
        async for finding in _of_server(place):
            yield finding
    except Unreachable as error:
        yield Finding("server", "problem", str(error))
    except Refused as error:
        yield Finding("server", "problem", str(error), error.hint)


async def _of_server(place: Target) -> AsyncIterator[Finding]:
    """Ask a server how it is; what only its database can tell is asked of that."""
    async with open_target(place) as wheel:
        health = await wheel.get("/healthz")
        yield Finding("server", "ok", f"{place.shown} answers")
        led = health.get("led", True)
        yield Finding(
            "leader", "ok" if led else "warning", "somebody leads" if led else "nobody leads",
            "" if led else "start a program on the database; what is sent meanwhile is kept",
        )  # fmt: skip
        queues, workers = await asyncio.gather(wheel.get("/api/queues"), wheel.get("/api/workers"))
        names = [worker["name"] for worker in workers["items"]]
        yield Finding("workers", "ok" if names else "warning", ", ".join(names) or "none")
        for queue in queues["items"]:
            waiting = sum(queue["counts"].values()) - queue["counts"].get("running", 0)
            if queue["paused"] and waiting:
                yield Finding(
                    "queues", "warning", f"{queue['name']} is paused with {waiting} jobs waiting",
                    f"{command('resume ' + queue['name'])} lets them go on",
                )  # fmt: skip
        yield Finding(
            "database", "ok", "asked through its server only",
            "with --database the schema, the disk and stuck jobs are looked at as well",
        )  # fmt: skip
