"""`fairlane-archive`: the rows by their accounts, and the verbs of Fairlane for the rest."""

import asyncio
import sys
from collections.abc import Awaitable, Callable, Sequence
from datetime import datetime
from pathlib import Path
from typing import Annotated, Any, Final, Literal

import msgspec
import typer

from fairlane import BadSetting, Conflict, Fairlane, FairlaneError, NotFound, StoreError
from fairlane_archiver import rows
from fairlane_archiver.program import QUEUE, build
from fairlane_archiver.sources import canonical

NAME: Final = "fairlane-archive"
_PANEL: Final = "Accounts"

Accounts = Annotated[
    list[str] | None, typer.Argument(help="@name@host, a profile, a feed", metavar="ACCOUNT…")
]
Account = Annotated[str, typer.Argument(help="@name@host, a profile, a feed")]
Json = Annotated[bool, typer.Option("--json", help="Answer with JSON, for scripts")]
Wait = Annotated[bool, typer.Option("--wait", help="Until they have ended; 1 if one did not do it")]
Day = Annotated[datetime | None, typer.Option(formats=["%Y-%m-%d"])]


def main() -> None:
    """Run a command; `--folder` may stand anywhere, because it says which archive is meant."""
    try:
        folder, rest = _taken(sys.argv[1:])
        program = commands(folder)
    except FairlaneError as error:
        raise SystemExit(_told(error)) from None
    program(rest, prog_name=NAME)


def _taken(words: Sequence[str]) -> tuple[Path | None, list[str]]:
    folder: Path | None = None
    rest: list[str] = []
    following = iter(words)
    for word in following:
        if word == "--folder":
            folder = _folder(next(following, ""))
        elif word.startswith("--folder="):
            folder = _folder(word.removeprefix("--folder="))
        else:
            rest.append(word)
    return folder, rest


def _folder(text: str) -> Path:
    if not text:  # which would mean wherever one happens to be
        raise BadSetting("--folder names nothing; give it the folder of an archive")
    return Path(text)


def commands(folder: Path | None = None) -> typer.Typer:
    """Return the command line of the archive in a folder."""
    program = build(folder).commands()

    def carry_out(act: Callable[[Fairlane], Awaitable[int | None]]) -> None:
        async def visit() -> int | None:
            async with build(folder, work=False) as app:
                return await act(app)

        try:
            code = asyncio.run(visit())
        except FairlaneError as error:
            code = _told(error)
        raise typer.Exit(code or 0)

    @program.callback()
    def about(
        folder: Annotated[
            Path | None,
            typer.Option(help="Where the archive is, also FAIRLANE_ARCHIVE_FOLDER"),
        ] = None,
    ) -> None:
        """Keep the media of accounts, three accounts at a time."""

    @program.command(rich_help_panel=_PANEL)
    def add(
        account: Account,
        *,
        kinds: Annotated[
            str | None, typer.Option(help="Of image,video,audio,other; all without it")
        ] = None,
        since: Day = None,
        until: Day = None,
        min_bytes: Annotated[int, typer.Option(min=0, help="Nothing smaller")] = 0,
        replies: Annotated[bool, typer.Option(help="What is posted in replies")] = True,
        boosts: Annotated[bool, typer.Option(help="What others posted")] = False,
        most: Annotated[int | None, typer.Option(min=1, help="New files in one run")] = None,
        as_json: Json = False,
    ) -> None:
        """Add an account, or change what is wanted of it."""
        filters: dict[str, Any] = {
            "since": since and since.date(), "until": until and until.date(),
            "min_bytes": min_bytes, "replies": replies, "boosts": boosts, "most": most,
        }  # fmt: skip
        if kinds is not None:
            filters["kinds"] = [kind.strip() for kind in kinds.split(",") if kind.strip()]

        async def act(app: Fairlane) -> None:
            name = await rows.save(app, account, filters)
            _say(await rows.listed(app, [name]), as_json=as_json)

        carry_out(act)

    @program.command(rich_help_panel=_PANEL)
    def start(accounts: Accounts = None, *, wait: Wait = False, as_json: Json = False) -> None:
        """Start accounts from their newest posts; all of them without a name."""
        carry_out(lambda app: _run(app, accounts, wait=wait, as_json=as_json, continues=False))

    @program.command("continue", rich_help_panel=_PANEL)
    def go_on(accounts: Accounts = None, *, wait: Wait = False, as_json: Json = False) -> None:
        """Continue accounts from where they stopped; all of them without a name."""
        carry_out(lambda app: _run(app, accounts, wait=wait, as_json=as_json, continues=True))

    @program.command(rich_help_panel=_PANEL)
    def status(accounts: Accounts = None, *, as_json: Json = False) -> None:
        """Show each account, and what its last run did."""

        async def act(app: Fairlane) -> None:
            _say(await rows.listed(app, _named(accounts)), as_json=as_json)

        carry_out(act)

    @program.command(rich_help_panel=_PANEL)
    def cancel(
        accounts: Annotated[list[str], typer.Argument(help="Whose runs", metavar="ACCOUNT…")],
        *,
        outputs: Annotated[
            Literal["keep", "delete"], typer.Option(help="What becomes of what this run saved")
        ] = "keep",
        as_json: Json = False,
    ) -> None:
        """Cancel what accounts run, or wait for."""

        async def act(app: Fairlane) -> None:
            names = _named(accounts)
            jobs = [await app.cancel_lane(QUEUE, name, outputs=outputs) for name in names]
            for job in jobs:
                await app.wait_for(job.id)
            _say(await rows.listed(app, names), as_json=as_json)

        carry_out(act)

    @program.command(rich_help_panel=_PANEL)
    def copy(
        account: Account,
        to: Annotated[list[str], typer.Argument(help="Where to", metavar="ACCOUNT…")],
        *,
        as_json: Json = False,
    ) -> None:
        """Copy what is wanted of one account to others."""

        async def act(app: Fairlane) -> None:
            filters = await rows.filters_of(app, canonical(account))
            names = [await rows.save(app, name, filters) for name in to]
            _say(await rows.listed(app, names), as_json=as_json)

        carry_out(act)

    @program.command(rich_help_panel=_PANEL)
    def remove(account: Account) -> None:
        """Take an account out; its files stay."""
        carry_out(lambda app: rows.remove(app, canonical(account)))

    return program


async def _run(
    app: Fairlane, accounts: list[str] | None, *, wait: bool, as_json: bool, continues: bool
) -> int:
    names = _named(accounts) or [row.account for row in await rows.listed(app)]
    jobs = await rows.run(app, names, continues=continues)
    if wait:
        ended = [await app.wait_for(job.id) for job in jobs]
        _say(await rows.listed(app, names), as_json=as_json)
        return int(any(job.state != "completed" for job in ended))
    _say(await rows.listed(app, names), as_json=as_json)
    if not await app.workers():
        typer.echo(f"{NAME}: nobody works on it; `{NAME} serve` does", err=True)
    return 0


def _named(accounts: Sequence[str] | None) -> list[str]:
    return [canonical(account) for account in accounts or ()]


def _told(error: FairlaneError) -> int:
    """Say what is wrong on stderr and return the exit code of its kind, as Fairlane's own verbs."""
    typer.echo(f"{NAME}: {_visible(str(error))}", err=True)
    match error:
        case NotFound():
            return 3
        case Conflict():
            return 4
        case StoreError():
            return 5
        case _:
            return 2


def _say(found: Sequence[rows.Row], *, as_json: bool) -> None:
    if as_json:
        typer.echo(msgspec.json.encode(found).decode())
        return
    if not found:
        typer.echo(f"no accounts; `{NAME} add ACCOUNT` adds one")
        return
    head = ("ACCOUNT", "STATE", *(name.upper() for name in rows.COUNTS))
    lines = [head, *(_cells(row) for row in found)]
    widths = [max(len(line[column]) for line in lines) for column in range(len(head))]
    for line in lines:
        cells = (cell.ljust(width) for cell, width in zip(line, widths, strict=True))
        typer.echo("  ".join(cells).rstrip())
    for row in found:
        if row.trouble:
            typer.echo(f"{_visible(row.account)}: {_visible(row.trouble)}")


def _cells(row: rows.Row) -> tuple[str, ...]:
    told = (row.counts.get(name) for name in rows.COUNTS)
    counts = ("" if value is None else _visible(str(value)) for value in told)
    return (_visible(row.account), row.state, *counts)


def _visible(text: str) -> str:
    """Write control characters out: what servers say must not steer a terminal."""
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)
