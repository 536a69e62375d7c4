"""`fairlane-dnslog`: serve the pages, and control the program from a terminal."""

import getpass
import os
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import datetime
from importlib.metadata import version
from pathlib import Path
from typing import Annotated, Final

import msgspec
import typer
from rich.console import Console
from rich.table import Table

from fairlane import BadSetting, FairlaneError, StoreError
from fairlane_dnslog.database import DatabaseError, DatabaseUnavailable
from fairlane_dnslog.first_account import NAME as ADMINISTRATOR
from fairlane_dnslog.first_account import create_first_account
from fairlane_dnslog.program import Program
from fairlane_dnslog.pull_log import read_server
from fairlane_dnslog.rules.audit import record_audit
from fairlane_dnslog.rules.process_rows import running_processes
from fairlane_dnslog.settings import Settings, load_settings, require_log
from fairlane_dnslog.status import ServerStatus, read_status, show_stopped
from fairlane_dnslog.web.accounts import (
    BadAccount,
    Role,
    delete_account,
    find_account,
    list_accounts,
    store_account,
)

NAME: Final = "fairlane-dnslog"
UNAVAILABLE: Final = 5
SHORTEST_INTERVAL: Final = 1  # seconds
LONGEST_INTERVAL: Final = 86400
NO_PROCESS: Final = "no process runs"
PIPE_WIDTH: Final = 1_000  # of a table that no terminal shows
ADD_SERVER: Final = "add one to dnslog.toml, or name it in DNSLOG_URL"

Folder = Annotated[
    Path | None,
    typer.Option(
        help="The folder of dnslog.toml and of the log; without it "
        "$XDG_DATA_HOME/fairlane-dnslog, which is ~/.local/share/fairlane-dnslog",
        envvar="DNSLOG_FOLDER",
    ),
]
Database = Annotated[
    str | None,
    typer.Option(
        help="sqlite:////var/lib/dnslog/dnslog.db or postgresql://user@host/database; without it "
        "dnslog.db in the folder",
        envvar="DNSLOG_DATABASE",
    ),
]
Json = Annotated[bool, typer.Option("--json", help="Print JSON, for scripts")]
Server = Annotated[str | None, typer.Argument(help="A server by name; all without it")]

program = typer.Typer(
    name=NAME,
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,  # the columns of rich cut examples in a terminal of 80 characters
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
def serve(
    *,
    folder: Folder = None,
    database: Database = None,
    host: Annotated[
        str | None, typer.Option(help="The address to listen on (127.0.0.1: this machine only)")
    ] = None,
    port: Annotated[
        int | None, typer.Option(help="The port (8430); 0 is a free one", min=0, max=65535)
    ] = None,
    url: Annotated[
        str | None, typer.Option(help="The AdGuard Home, such as http://192.168.1.2:3000")
    ] = None,
    username: Annotated[str | None, typer.Option(help="Its user")] = None,
    password_file: Annotated[
        Path | None, typer.Option(help="The file with the password of that user")
    ] = None,
    visitors: Annotated[
        bool | None, typer.Option(help="Reading is allowed without a login")
    ] = None,
) -> None:
    """Pull, apply the rules and serve the pages in one process, until SIGTERM or Ctrl-C.

    Every flag is also a setting of the environment and of dnslog.toml: DNSLOG_PORT, `port`.
    """
    from fairlane_dnslog.console_gate import HOME
    from fairlane_dnslog.web_server import address_of, open_listener, serve_site

    given = {"URL": url, "USERNAME": username, "PASSWORD_FILE": password_file}
    environment = os.environ | {
        f"DNSLOG_{name}": str(value) for name, value in given.items() if value is not None
    }
    with errors_as_exit_codes():
        settings = load_settings(
            environment=environment, folder=folder, database=database, host=host, port=port,
            visitors=visitors,
        )  # fmt: skip
        opened = Program(settings, console_address=HOME)
        with open_listener(settings.host, settings.port) as listener:
            opened.prepare()
            password = create_first_account(opened.database)

            def announce() -> None:
                if password:
                    typer.echo(f"the first account: {ADMINISTRATOR}, password {password}")
                    typer.echo("it is not shown again; change it on the page of the account")
                names = ", ".join(server.name for server in settings.servers)
                typer.echo(f"pulling: {names or f'no server; {ADD_SERVER}'}")
                typer.echo(f"time zone of new rules and of the pages: {settings.timezone}")
                typer.echo(f"serving {address_of(listener)}")

            serve_site(opened, listener, announce=announce)
            typer.echo("stopped")


@program.command()
def demo(
    *,
    host: Annotated[str, typer.Option(help="The address to listen on")] = "127.0.0.1",
    port: Annotated[int, typer.Option(help="The port; 0 is a free one", min=0, max=65535)] = 8430,
) -> None:
    """Show everything on the invented traffic of a household; Ctrl-C removes it."""
    from fairlane_dnslog.demo import NAME as ACCOUNT
    from fairlane_dnslog.demo import PASSWORD, demo_program
    from fairlane_dnslog.web_server import address_of, open_listener, serve_site

    with errors_as_exit_codes(), open_listener(host, port) as listener:
        typer.echo("preparing the log of a household …")
        with demo_program(host=host) as (opened, server):

            def announce() -> None:
                typer.echo(f"a stand-in for AdGuard Home: {server.url}")
                typer.echo(f"log in as {ACCOUNT} with the password {PASSWORD}")
                typer.echo(f"serving {address_of(listener)}")

            serve_site(opened, listener, announce=announce)
        typer.echo("stopped; the folder of the demonstration is removed")


@program.command()
def password(
    name: Annotated[str, typer.Argument(help="The name of the account")],
    *,
    viewer: Annotated[
        bool | None,
        typer.Option("--viewer/--editor", help="May only read, or may change rules as well"),
    ] = None,
    remove: Annotated[bool, typer.Option("--remove", help="Remove the account")] = False,
    folder: Folder = None,
    database: Database = None,
) -> None:
    """Create an account, or change its password; its sessions end.

    The password is read from the terminal, or from the standard input. A new account may change
    rules unless it is a viewer.
    """
    with errors_as_exit_codes():
        opened = _open_log(folder, database)
        try:
            if remove:
                _remove_account(opened, name)
            else:
                _store_account(opened, name, viewer=viewer)
        except BadAccount as error:
            raise BadSetting(str(error)) from None
        finally:
            opened.database.close()


def _store_account(opened: Program, name: str, *, viewer: bool | None) -> None:
    if sys.stdin.isatty():
        text = typer.prompt("Password", hide_input=True, confirmation_prompt=True)
    else:
        text = sys.stdin.readline().rstrip("\r\n")
    with opened.database.transaction() as tx:
        known = find_account(tx, name)
        role: Role = known.role if known else "editor"
        if viewer is not None:
            role = "viewer" if viewer else "editor"
        store_account(tx, name=name, password=text, role=role)
        action = "password changed" if known else "account created"
        record_audit(
            tx, at=time.time(), actor=_actor(), action=action, subject=name, detail={"role": role}
        )
    typer.echo(f"{name}: {action}, {role}")


def _remove_account(opened: Program, name: str) -> None:
    with opened.database.transaction() as tx:
        if not delete_account(tx, name):
            known = ", ".join(account.name for account in list_accounts(tx)) or "none"
            raise BadAccount("name", f'account "{name}" does not exist (known: {known})')
        record_audit(
            tx, at=time.time(), actor=_actor(), action="account removed", subject=name, detail={}
        )
    typer.echo(f"{name}: account removed")


@program.command()
def status(*, folder: Folder = None, database: Database = None, as_json: Json = False) -> None:
    """Show each server: its last pull, the time up to which its log is complete, its gaps, and
    the rules in force."""
    with errors_as_exit_codes():
        opened = _open_log(folder, database)
        found = show_stopped(read_status(opened.database, opened.settings, now=time.time()))
        opened.database.close()
    if as_json:
        typer.echo(msgspec.json.encode(found).decode())
    else:
        _print_servers(found.servers, opened.settings)
        if not found.processes:
            typer.echo(f"{NO_PROCESS}: start `fairlane-dnslog serve`, or its service")


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
    seconds: Annotated[
        str, typer.Argument(help='Seconds between two pulls, or "default" for the settings')
    ],
    server: Server = None,
    *,
    folder: Folder = None,
    database: Database = None,
) -> None:
    """Change the interval of the pulls, in force at once in all processes.

    It is stronger than `pull_seconds` of the settings, until `interval default`.
    """
    wanted = None if seconds == "default" else _interval(seconds)

    def act(opened: Program, name: str) -> str:
        if wanted is None:
            opened.reset_pull_seconds(name, actor=_actor())
            return f"pulled every {opened.settings.pull_seconds:g} s, by the settings"
        opened.set_pull_seconds(name, wanted, actor=_actor())
        return f"pulled every {wanted:g} s"

    _for_servers(folder, database, server, act)


def _interval(text: str) -> float:
    try:
        seconds = float(text)
    except ValueError:
        seconds = 0.0
    if not SHORTEST_INTERVAL <= seconds <= LONGEST_INTERVAL:  # nor NaN
        raise typer.BadParameter(
            f'{text} is neither "default" nor a number of seconds from {SHORTEST_INTERVAL} to '
            f"{LONGEST_INTERVAL}"
        )
    return seconds


def _pull_now(opened: Program, name: str) -> str:
    if _is_paused(opened, name):
        return "paused, so it is not pulled; correct the login, then `fairlane-dnslog resume`"
    opened.pull_now(name, actor=_actor())
    return f"a pull is submitted{_without_process(opened)}"


def _resume(opened: Program, name: str) -> str:
    was_paused = _is_paused(opened, name)
    opened.resume_server(name, actor=_actor())
    result = "resumed" if was_paused else "was not paused"
    return f"{result}; a pull is submitted{_without_process(opened)}"


def _is_paused(opened: Program, name: str) -> bool:
    with opened.database.reading() as tx:
        return read_server(tx, name).paused_reason is not None


def _without_process(opened: Program) -> str:
    with opened.database.reading() as tx:
        is_running = bool(running_processes(tx, now=time.time()))
    return "" if is_running else "; no process runs it now"


def _actor() -> str:
    return f"{getpass.getuser()} in a terminal"


def _open_log(folder: Path | None, database: str | None) -> Program:
    """Return the program of a log that exists; it executes no jobs."""
    settings = load_settings(folder=folder, database=database)
    require_log(settings)
    opened = Program(settings, work=False)
    opened.prepare()
    return opened


def _for_servers(
    folder: Path | None, database: str | None, server: str | None,
    act: Callable[[Program, str], str],
) -> None:  # fmt: skip
    with errors_as_exit_codes():
        opened = _open_log(folder, database)
        settings = opened.settings
        names = [settings.server(server).name] if server else [s.name for s in settings.servers]
        if not names:
            raise BadSetting(f"the settings have no server; {ADD_SERVER}")
        with opened.app:
            for name in names:
                typer.echo(f"{name}: {act(opened, name)}")


def _print_servers(servers: tuple[ServerStatus, ...], settings: Settings) -> None:
    def shown(at: float | None) -> str:
        if at is None:
            return "never"
        return f"{datetime.fromtimestamp(at, settings.zone):%Y-%m-%d %H:%M:%S}"

    table = Table(box=None, header_style="bold", pad_edge=False)
    for title in ("SERVER", "STATE", "EVERY", "LAST PULL", "COMPLETE UNTIL", "GAPS"):
        table.add_column(title, no_wrap=True)
    table.add_column("RULES")  # in force; many of them share the rest of the line
    for one in servers:
        last = one.last_pull
        table.add_row(
            one.name, one.state, f"{one.pull_seconds:g} s",
            shown(last.started_at if last else None), shown(one.complete_until),
            str(one.gaps), ", ".join(one.rules_in_force) or "none",
        )  # fmt: skip
    console = Console()
    if not console.is_terminal:
        console.width = PIPE_WIDTH  # a line for each server
    console.print(table)
    if not servers:
        typer.echo(f"no server; {ADD_SERVER}")
    for one in servers:
        if one.reason:
            typer.echo(f"{one.name}: {one.reason}")
        if one.is_interval_set and one.pull_seconds != settings.pull_seconds:
            typer.echo(
                f"{one.name}: `interval` has set {one.pull_seconds:g} s; `interval default` returns"
                f" to the {settings.pull_seconds:g} s of the settings"
            )
