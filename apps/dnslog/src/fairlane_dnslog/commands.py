"""`fairlane-dnslog`: run the pulls and the rules, and control them from a terminal."""

import getpass
import signal
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import datetime
from importlib.metadata import version
from pathlib import Path
from typing import Annotated, Any, Final

import msgspec
import typer
from rich.console import Console
from rich.table import Table

from fairlane import FairlaneError, StoreError
from fairlane_dnslog.database import DatabaseError, DatabaseUnavailable
from fairlane_dnslog.program import Program
from fairlane_dnslog.settings import Settings, load_settings
from fairlane_dnslog.status import ServerStatus, read_status

NAME: Final = "fairlane-dnslog"
UNAVAILABLE: Final = 5

Folder = Annotated[
    Path | None, typer.Option(help="The folder of the settings and the log", envvar="DNSLOG_FOLDER")
]
Database = Annotated[
    str | None, typer.Option(help="sqlite:///… or postgresql://…", envvar="DNSLOG_DATABASE")
]
Json = Annotated[bool, typer.Option("--json", help="Print JSON, for scripts")]
Server = Annotated[str | None, typer.Argument(help="A server by name; all without it")]

program = typer.Typer(
    name=NAME, no_args_is_help=True, add_completion=False, pretty_exceptions_enable=False
)


def main() -> None:
    program(prog_name=NAME)


@contextmanager
def errors_as_exit_codes() -> Iterator[None]:
    """Print an error as one sentence; exit with 5 if the database is unavailable, else with 2."""
    try:
        yield
    except (DatabaseUnavailable, StoreError) as error:
        typer.echo(f"{NAME}: {error}", err=True)
        raise typer.Exit(UNAVAILABLE) from None
    except (FairlaneError, DatabaseError) as error:
        typer.echo(f"{NAME}: {error}", err=True)
        raise typer.Exit(2) from None


def _print_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"{NAME} {version(NAME)}")
        raise typer.Exit


@program.callback()
def about(
    *,
    version: Annotated[
        bool,
        typer.Option("--version", is_eager=True, callback=_print_version, help="Show the version"),
    ] = False,
) -> None:
    """Keep the query log of AdGuard Home, and switch its filtering by the clock."""


@program.command()
def run(*, folder: Folder = None, database: Database = None) -> None:
    """Pull and apply the rules in this process, until SIGTERM or Ctrl-C."""
    with errors_as_exit_codes():
        opened = Program(load_settings(folder=folder, database=database))
        stopping = threading.Event()
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, lambda *_: stopping.set())
        opened.start()
        names = ", ".join(server.name for server in opened.settings.servers)
        typer.echo(f"pulling {names or 'no server; add one to the settings'}", err=True)
        stopping.wait()
        opened.stop()


@program.command()
def status(*, folder: Folder = None, database: Database = None, as_json: Json = False) -> None:
    """Show each server: its last pull, its rows, its gaps, and the rules in force."""
    with errors_as_exit_codes():
        opened = Program(load_settings(folder=folder, database=database))
        opened.prepare()
        found = read_status(opened.database, opened.settings, now=time.time())
        opened.database.close()
    if as_json:
        typer.echo(msgspec.json.encode(found).decode())
    else:
        _print_servers(found.servers, opened.settings)


@program.command()
def pull(server: Server = None, *, folder: Folder = None, database: Database = None) -> None:
    """Submit a pull now; a running `serve` or gunicorn executes it."""
    _for_servers(folder, database, server, _pull_now)


@program.command()
def resume(server: Server = None, *, folder: Folder = None, database: Database = None) -> None:
    """Allow requests again to a server whose login was refused."""
    _for_servers(folder, database, server, _resume)


@program.command()
def interval(
    seconds: Annotated[float, typer.Argument(min=1, max=86400, help="Seconds between two pulls")],
    server: Server = None,
    *,
    folder: Folder = None,
    database: Database = None,
) -> None:
    """Change the interval of the pulls, in force at once in all processes."""
    _for_servers(
        folder,
        database,
        server,
        lambda opened, name: opened.set_pull_seconds(name, seconds, actor=_actor()),
    )


def _pull_now(opened: Program, name: str) -> None:
    opened.pull_now(name, actor=_actor())


def _resume(opened: Program, name: str) -> None:
    opened.resume_server(name, actor=_actor())


def _actor() -> str:
    return f"{getpass.getuser()} in a terminal"


def _for_servers(
    folder: Path | None, database: str | None, server: str | None,
    act: Callable[[Program, str], Any],
) -> None:  # fmt: skip
    with errors_as_exit_codes():
        settings = load_settings(folder=folder, database=database)
        names = [settings.server(server).name] if server else [s.name for s in settings.servers]
        opened = Program(settings, work=False)
        opened.prepare()
        with opened.app:
            for name in names:
                act(opened, name)
                typer.echo(f"{name}: done")


def _print_servers(servers: tuple[ServerStatus, ...], settings: Settings) -> None:
    def shown(at: float | None) -> str:
        if at is None:
            return "never"
        return f"{datetime.fromtimestamp(at, settings.zone):%Y-%m-%d %H:%M:%S}"

    table = Table(box=None, header_style="bold")
    for title in ("SERVER", "STATE", "LAST PULL", "COMPLETE UNTIL", "GAPS", "RULES IN FORCE"):
        table.add_column(title)
    for one in servers:
        last = one.last_pull
        table.add_row(
            one.name, one.state, shown(last.started_at if last else None),
            shown(one.complete_until), str(one.gaps), ", ".join(one.rules_in_force) or "none",
        )  # fmt: skip
    Console().print(table)
    for one in servers:
        if one.reason:
            typer.echo(f"{one.name}: {one.reason}")
