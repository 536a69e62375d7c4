"""`fairlane-archive`: the rows by their accounts, and the verbs of Fairlane for the rest."""

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
from fairlane_archiver.output import NAME, answer, say, told, warn_if_nobody_works
from fairlane_archiver.program import QUEUE, build
from fairlane_archiver.rows import Rows
from fairlane_archiver.settings import Settings
from fairlane_archiver.sources import canonical, canonicals
from fairlane_archiver.start_runs import Run
from fairlane_archiver.table import KINDS

_PANEL: Final = "Accounts"
_WHO: Final = "@name@host, a profile, a feed (feed:URL), or gallery:URL"
_MAKING: Final = ("serve", "work")  # an archive where there is none
_OF_JOBS: Final = ("show", "watch", "log", "explain")  # which take an account as well

Accounts = Annotated[list[str] | None, typer.Argument(help=_WHO, metavar="ACCOUNT…")]
Account = Annotated[str, typer.Argument(help=_WHO)]
Json = Annotated[bool, typer.Option("--json", help="Answer with JSON, for scripts")]
Wait = Annotated[
    bool,
    typer.Option("--wait", help="Until they have ended; 1 if one failed, or a file was not saved"),
]
Act = Callable[[Fairlane, Rows], Awaitable[Any]]


def main() -> None:
    """Run a command; `--folder` may stand anywhere, because it says which archive is meant."""
    try:
        folder, rest = _taken(sys.argv[1:])
        program = commands(folder)
    except FairlaneError as error:
        raise SystemExit(told(error)) from None
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
    archive = Archive(Settings.from_environment(folder))
    program = build(folder).commands()
    theirs = list(program.registered_commands)
    program.registered_commands.clear()

    def visit(act: Act, *, makes: bool = False) -> Any:
        """Do something in the archive; only `makes` makes one where there is none."""

        async def visiting() -> Any:
            async with build(folder, work=False) as app:
                return await act(app, Rows(app, archive.index))

        try:
            archive.begin() if makes else archive.check()
            return asyncio.run(visiting())
        except FairlaneError as error:
            raise typer.Exit(told(error)) from None
        except KeyboardInterrupt:
            raise typer.Exit(130) from None

    def carry_out(act: Act, *, makes: bool = False) -> None:
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
                "--version", is_eager=True, callback=_say_version, help="Say which this is"
            ),
        ] = False,
    ) -> None:
        """Keep the media of accounts, three accounts at a time."""

    @program.command(rich_help_panel=_PANEL)
    def add(
        account: Account,
        *,
        kinds: Annotated[
            str | None, typer.Option(help="Of image,video,audio,other; all without it")
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
            typer.Option("--replies/--no-replies", help="What is posted in replies; with it"),
        ] = None,
        boosts: Annotated[
            bool | None,
            typer.Option("--boosts/--no-boosts", help="What others posted; without it"),
        ] = None,
        most: Annotated[int | None, typer.Option(min=1, help="New files in one run")] = None,
        reset: Annotated[
            bool, typer.Option("--reset", help="Forget what was asked for and is not named now")
        ] = False,
        as_json: Json = False,
    ) -> None:
        """Add an account, or change what is wanted of it; what is not named stays."""
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
            say(await rows.listed([name]), as_json=as_json, says_wanted=True)

        carry_out(act, makes=True)

    @program.command(rich_help_panel=_PANEL)
    def start(accounts: Accounts = None, *, wait: Wait = False, as_json: Json = False) -> None:
        """Start accounts from their newest posts; all of them without a name."""
        run = Run(accounts, wait=wait, as_json=as_json, continues=False)
        carry_out(run.carry_out)

    @program.command("continue", rich_help_panel=_PANEL)
    def go_on(accounts: Accounts = None, *, wait: Wait = False, as_json: Json = False) -> None:
        """Continue accounts from where they stopped; all of them without a name."""
        run = Run(accounts, wait=wait, as_json=as_json, continues=True)
        carry_out(run.carry_out)

    @program.command(rich_help_panel=_PANEL)
    def status(accounts: Accounts = None, *, as_json: Json = False) -> None:
        """Show each account: what its last run did, and what there is; one by name in full."""

        async def act(_: Fairlane, rows: Rows) -> None:
            found = await rows.listed(canonicals(accounts))
            say(found, as_json=as_json, says_wanted=bool(accounts), in_full=bool(accounts))

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

        async def act(app: Fairlane, rows: Rows) -> None:
            names = canonicals(accounts)
            await rows.listed(names)  # or one of them is unknown
            jobs = [await app.lanes.cancel(QUEUE, name, outputs=outputs) for name in names]
            for job in jobs:
                await app.jobs.wait(job.id)
            say(await rows.listed(names), as_json=as_json)

        carry_out(act)

    @program.command(rich_help_panel=_PANEL)
    def copy(
        account: Account,
        to: Annotated[list[str], typer.Argument(help="Where to", metavar="ACCOUNT…")],
        *,
        as_json: Json = False,
    ) -> None:
        """Copy what is wanted of one account to others."""

        async def act(_: Fairlane, rows: Rows) -> None:
            filters = await rows.filters(canonical(account))
            names = [await rows.save(name, filters, keeps=False) for name in to]
            say(await rows.listed(names), as_json=as_json, says_wanted=True)

        carry_out(act)

    @program.command(rich_help_panel=_PANEL)
    def schedule(
        account: Annotated[str | None, typer.Argument(help=f"{_WHO}; every row without it")] = None,
        *,
        cron: Annotated[str | None, typer.Option(help='When: "0 3 * * *"')] = None,
        every: Annotated[str | None, typer.Option(help="When: every 30m, 6h, 2d")] = None,
        timezone: Annotated[str | None, typer.Option(help="Europe/Berlin; UTC otherwise")] = None,
        off: Annotated[bool, typer.Option("--off", help="No longer")] = False,
        as_json: Json = False,
    ) -> None:
        """Continue an account by itself, as it is saved by then; `schedules` lists them."""

        async def act(app: Fairlane, rows: Rows) -> None:
            name = None if account is None else canonical(account)
            shown = name or schedules.ALL
            if off:
                if not await schedules.drop(app, name):
                    raise NotFound(f"{shown} has no schedule; `{NAME} schedules` lists them")
                answer({"deleted": shown}, f"{shown} has no schedule any more", as_json=as_json)
                return
            if name is not None:
                await rows.filters(name)  # or it is unknown
            made = await schedules.put(app, name, cron=cron, every=every, timezone=timezone)
            said = f"{shown} is continued by itself, next at {made['next_at']:%Y-%m-%d %H:%M %Z}"
            answer(made, said, as_json=as_json)
            await warn_if_nobody_works(app)

        carry_out(act)

    @program.command(rich_help_panel=_PANEL)
    def remove(account: Account, *, as_json: Json = False) -> None:
        """Take an account out; its files stay."""

        async def act(app: Fairlane, rows: Rows) -> None:
            name = canonical(account)
            await rows.remove(name)
            await schedules.drop(app, name)
            folder = archive.shelf(name).folder
            said = f"{name} is not in the archive any more; its files stay in {folder}"
            answer({"removed": name, "folder": str(folder)}, said, as_json=as_json)

        carry_out(act)

    def find_job(given: dict[str, Any]) -> None:
        """Let an account stand for the job that it runs, or ran last."""
        text = given.get("job")
        try:
            account = None if text is None else canonical(text)
        except Permanent:
            return  # it is the id of a job
        if account is not None:
            given["job"] = visit(lambda _, rows: rows.last_job(account))

    def make_folder(_: dict[str, Any]) -> None:
        try:
            archive.begin()
        except FairlaneError as error:
            raise typer.Exit(told(error)) from None

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


def _say_version(wanted: bool) -> None:
    if wanted:
        try:
            typer.echo(f"{NAME} {version('fairlane-archiver')}")
        except PackageNotFoundError:
            typer.echo(f"{NAME}, not installed")
        raise typer.Exit
