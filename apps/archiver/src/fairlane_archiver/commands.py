"""`fairlane-archive`: commands for accounts, and the verbs of Fairlane."""

import asyncio
import sys
from collections.abc import Awaitable, Callable, Sequence
from datetime import datetime
from functools import wraps
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Annotated, Any, Final, Literal

import typer

from fairlane import BadSetting, Fairlane, FairlaneError, NotFound, Permanent
from fairlane_archiver import schedules
from fairlane_archiver.archive import Archive
from fairlane_archiver.output import (
    NAME,
    print_result,
    print_rows,
    report_error,
    warn_without_workers,
)
from fairlane_archiver.program import QUEUE, build
from fairlane_archiver.rows import Rows
from fairlane_archiver.settings import Settings
from fairlane_archiver.sources import canonical_name, canonical_names
from fairlane_archiver.start_runs import StartRuns
from fairlane_archiver.table import KINDS

_PANEL: Final = "Accounts"
_WHO: Final = "@name@host, a profile, a feed (feed:URL), or gallery:URL"
_MAKING: Final = ("serve", "work")  # these verbs create a missing archive
_OF_JOBS: Final = ("show", "watch", "log", "explain")  # these verbs accept an account as well

Accounts = Annotated[list[str] | None, typer.Argument(help=_WHO, metavar="ACCOUNT…")]
Account = Annotated[str, typer.Argument(help=_WHO)]
Json = Annotated[bool, typer.Option("--json", help="Print JSON, for scripts")]
Wait = Annotated[
    bool,
    typer.Option(
        "--wait",
        help="Wait until they have ended; exit code 1 if one failed or a file was not saved",
    ),
]
Act = Callable[[Fairlane, Rows], Awaitable[Any]]


def main() -> None:
    """Run a command; `--folder` is accepted anywhere, because it selects the archive."""
    try:
        folder, rest = _split_folder(sys.argv[1:])
        program = commands(folder)
    except FairlaneError as error:
        raise SystemExit(report_error(error)) from None
    program(rest, prog_name=NAME)


def _split_folder(words: Sequence[str]) -> tuple[Path | None, list[str]]:
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
    if not text:  # an empty path would mean the current folder
        raise BadSetting("--folder names nothing; give it the folder of an archive")
    return Path(text)


def commands(folder: Path | None = None) -> typer.Typer:
    """Return the command line of the archive in a folder."""
    archive = Archive(Settings.from_environment(folder))
    program = build(folder).commands()
    theirs = list(program.registered_commands)
    program.registered_commands.clear()

    def visit(act: Act, *, makes: bool = False) -> Any:
        """Run an action in the archive; only `makes` creates a missing one."""

        async def visiting() -> Any:
            async with build(folder, work=False) as app:
                return await act(app, Rows(app, archive.index))

        try:
            archive.begin() if makes else archive.check()
            return asyncio.run(visiting())
        except FairlaneError as error:
            raise typer.Exit(report_error(error)) from None
        except KeyboardInterrupt:
            raise typer.Exit(130) from None

    def execute(act: Act, *, makes: bool = False) -> None:
        raise typer.Exit(visit(act, makes=makes) or 0)

    @program.callback()
    def about(
        *,
        folder: Annotated[
            Path | None,
            typer.Option(help="Where the archive is, also FAIRLANE_ARCHIVE_FOLDER"),
        ] = None,
        version: Annotated[
            bool,
            typer.Option(
                "--version", is_eager=True, callback=_print_version, help="Show the version"
            ),
        ] = False,
    ) -> None:
        """Archive the media of accounts, three accounts at a time."""

    @program.command(rich_help_panel=_PANEL)
    def add(
        account: Account,
        *,
        kinds: Annotated[
            str | None, typer.Option(help="Kinds to save: image,video,audio,other; default: all")
        ] = None,
        since: Annotated[
            datetime | None, typer.Option(formats=["%Y-%m-%d"], help="Nothing older than this day")
        ] = None,
        until: Annotated[
            datetime | None, typer.Option(formats=["%Y-%m-%d"], help="Nothing newer than this day")
        ] = None,
        min_bytes: Annotated[int | None, typer.Option(min=0, help="Nothing smaller")] = None,
        replies: Annotated[
            bool | None,
            typer.Option("--replies/--no-replies", help="Include replies; the default"),
        ] = None,
        boosts: Annotated[
            bool | None,
            typer.Option("--boosts/--no-boosts", help="Include boosts; not the default"),
        ] = None,
        most: Annotated[int | None, typer.Option(min=1, help="New files in one run")] = None,
        reset: Annotated[
            bool, typer.Option("--reset", help="Reset the filters that are not named now")
        ] = False,
        as_json: Json = False,
    ) -> None:
        """Add an account, or change its filters; filters that are not named stay."""
        named: dict[str, Any] = {
            "kinds": None if kinds is None else kinds.split(","),
            "since": since and since.date(), "until": until and until.date(),
            "min_bytes": min_bytes, "replies": replies, "boosts": boosts, "most": most,
        }  # fmt: skip
        filters = {name: value for name, value in named.items() if value is not None}
        if kinds is not None:
            filters["kinds"] = _kinds(kinds)

        async def act(_: Fairlane, rows: Rows) -> None:
            name = await rows.save(account, filters, keeps=not reset)
            print_rows(await rows.listed([name]), as_json=as_json, says_wanted=True)

        execute(act, makes=True)

    @program.command(rich_help_panel=_PANEL)
    def start(accounts: Accounts = None, *, wait: Wait = False, as_json: Json = False) -> None:
        """Start accounts from their newest posts; all of them without a name."""
        run = StartRuns(accounts, wait=wait, as_json=as_json, continues=False)
        execute(run.execute)

    @program.command("continue", rich_help_panel=_PANEL)
    def go_on(accounts: Accounts = None, *, wait: Wait = False, as_json: Json = False) -> None:
        """Continue accounts from where they stopped; all of them without a name."""
        run = StartRuns(accounts, wait=wait, as_json=as_json, continues=True)
        execute(run.execute)

    @program.command(rich_help_panel=_PANEL)
    def status(accounts: Accounts = None, *, as_json: Json = False) -> None:
        """Show each account: its last run, and its saved files; one account in full."""

        async def act(_: Fairlane, rows: Rows) -> None:
            found = await rows.listed(canonical_names(accounts))
            print_rows(found, as_json=as_json, says_wanted=bool(accounts), in_full=bool(accounts))

        execute(act)

    @program.command(rich_help_panel=_PANEL)
    def cancel(
        accounts: Annotated[list[str], typer.Argument(help="Accounts", metavar="ACCOUNT…")],
        *,
        outputs: Annotated[
            Literal["keep", "delete"],
            typer.Option(help="Keep or delete the files that this run saved"),
        ] = "keep",
        as_json: Json = False,
    ) -> None:
        """Cancel the running or waiting runs of accounts."""

        async def act(app: Fairlane, rows: Rows) -> None:
            names = canonical_names(accounts)
            await rows.listed(names)  # raises if one is unknown
            jobs = [await app.lanes.cancel(QUEUE, name, outputs=outputs) for name in names]
            for job in jobs:
                await app.jobs.wait(job.id)
            print_rows(await rows.listed(names), as_json=as_json)

        execute(act)

    @program.command(rich_help_panel=_PANEL)
    def copy(
        account: Account,
        to: Annotated[list[str], typer.Argument(help="Target accounts", metavar="ACCOUNT…")],
        *,
        as_json: Json = False,
    ) -> None:
        """Copy the filters of one account to other accounts."""

        async def act(_: Fairlane, rows: Rows) -> None:
            filters = await rows.filters(canonical_name(account))
            names = [await rows.save(name, filters, keeps=False) for name in to]
            print_rows(await rows.listed(names), as_json=as_json, says_wanted=True)

        execute(act)

    @program.command(rich_help_panel=_PANEL)
    def schedule(
        account: Annotated[
            str | None, typer.Argument(help=f"{_WHO}; all accounts without it")
        ] = None,
        *,
        cron: Annotated[str | None, typer.Option(help='When: "0 3 * * *"')] = None,
        every: Annotated[str | None, typer.Option(help="When: every 30m, 6h, 2d")] = None,
        timezone: Annotated[str | None, typer.Option(help="Europe/Berlin; UTC otherwise")] = None,
        off: Annotated[bool, typer.Option("--off", help="Delete the schedule")] = False,
        as_json: Json = False,
    ) -> None:
        """Continue an account on a schedule, with its filters of that time.

        `schedules` lists the schedules.
        """

        async def act(app: Fairlane, rows: Rows) -> None:
            name = None if account is None else canonical_name(account)
            shown = name or schedules.ALL
            if off:
                if not await schedules.delete_schedule(app, name):
                    raise NotFound(f"{shown} has no schedule; `{NAME} schedules` lists them")
                print_result(
                    {"deleted": shown}, f"{shown} has no schedule any more", as_json=as_json
                )
                return
            if name is not None:
                await rows.filters(name)  # raises if it is unknown
            made = await schedules.save_schedule(
                app, name, cron=cron, every=every, timezone=timezone
            )
            said = (
                f"{shown} is continued automatically, next at {made['next_at']:%Y-%m-%d %H:%M %Z}"
            )
            print_result(made, said, as_json=as_json)
            await warn_without_workers(app)

        execute(act)

    @program.command(rich_help_panel=_PANEL)
    def remove(account: Account, *, as_json: Json = False) -> None:
        """Remove an account; its files stay."""

        async def act(app: Fairlane, rows: Rows) -> None:
            name = canonical_name(account)
            await rows.remove(name)
            await schedules.delete_schedule(app, name)
            folder = archive.account_folder(name).folder
            said = f"{name} is not in the archive any more; its files stay in {folder}"
            print_result({"removed": name, "folder": str(folder)}, said, as_json=as_json)

        execute(act)

    def find_job(given: dict[str, Any]) -> None:
        """Accept an account in place of the job that it runs, or ran last."""
        text = given.get("job")
        try:
            account = None if text is None else canonical_name(text)
        except Permanent:
            return  # it is the id of a job
        if account is not None:
            given["job"] = visit(lambda _, rows: rows.last_job(account))

    def make_folder(_: dict[str, Any]) -> None:
        try:
            archive.begin()
        except FairlaneError as error:
            raise typer.Exit(report_error(error)) from None

    before = dict.fromkeys(_MAKING, make_folder) | dict.fromkeys(_OF_JOBS, find_job)
    ours = {command.name or _called(command) for command in program.registered_commands}
    for command in theirs:
        name = command.name or _called(command)
        if name in before and command.callback is not None:
            command.callback = _preceded(command.callback, before[name])
        if name not in ours:
            program.registered_commands.append(command)
    return program


def _called(command: Any) -> str:
    return str(command.callback.__name__)


def _preceded(
    verb: Callable[..., Any], before: Callable[[dict[str, Any]], None]
) -> Callable[..., Any]:
    """Make a command that first has a look at what it is given, which may be changed."""

    @wraps(verb)
    def command(**given: Any) -> Any:
        before(given)
        return verb(**given)

    return command


def _kinds(text: str) -> list[str]:
    given = [kind.strip() for kind in text.split(",") if kind.strip()]
    unknown = [kind for kind in given if kind not in KINDS]
    if unknown or not given:
        raise typer.BadParameter(
            f"{text!r} is not of {','.join(KINDS)}; several are written with a comma",
            param_hint="--kinds",
        )
    return given


def _print_version(wanted: bool) -> None:
    if wanted:
        try:
            typer.echo(f"{NAME} {version('fairlane-archiver')}")
        except PackageNotFoundError:
            typer.echo(f"{NAME}, not installed")
        raise typer.Exit
