"""The command line: one file per verb, or per group of related verbs."""

import inspect
import io
import re
import sys
from importlib.metadata import version
from typing import Annotated, Any, Final

import typer

from fairlane.app import Fairlane
from fairlane.cli.command import (
    Verb,
    api_command,
    bind_first_argument,
    database_command,
    target_options,
)
from fairlane.cli.devices import devices
from fairlane.cli.doctor import doctor
from fairlane.cli.exit_codes import USAGE
from fairlane.cli.explain import explain
from fairlane.cli.forecast import forecast
from fairlane.cli.job_actions import cancel, move, priority, rerun, retry, skip
from fairlane.cli.jobs import jobs, show
from fairlane.cli.lanes import lanes
from fairlane.cli.limits import limit
from fairlane.cli.log import log
from fairlane.cli.maintenance import backup, migrate, prune
from fairlane.cli.program_name import program_name, set_program_name
from fairlane.cli.queues import pause, queues, resume, stop_after_current
from fairlane.cli.schedules import schedules
from fairlane.cli.serve import serve
from fairlane.cli.submit import submit
from fairlane.cli.watch import watch
from fairlane.cli.work import work
from fairlane.cli.workers import workers


def unwrapped(text: str) -> str:
    """Join the lines of each paragraph, because the terminal has its own width."""
    return re.sub(r"(?<!\n)\n(?!\n)", " ", text)


class CommandLine(typer.Typer):
    """A command line that accepts only UTF-8 arguments and escapes unprintable output."""

    verbs: frozenset[Any] = frozenset()  # the built-in ones, which every program has

    def __call__(self, *args: Any, **named: Any) -> Any:
        set_program_name(named.get("prog_name"))
        for stream in (sys.stdout, sys.stderr):
            if isinstance(stream, io.TextIOWrapper):
                stream.reconfigure(
                    errors="backslashreplace"
                )  # the terminal's encoding may lack a character
        for word in sys.argv[1:]:
            if any("\ud800" <= character <= "\udfff" for character in word):
                escaped = word.encode(errors="backslashreplace").decode()
                typer.echo(
                    f'{program_name()}: "{escaped}" is not valid UTF-8; expected UTF-8 text',
                    err=True,
                )
                sys.exit(USAGE)
        for command in self.registered_commands:
            if command.help is None and command.callback is not None:
                command.help = unwrapped(inspect.getdoc(command.callback) or "")
        # The commands that a program adds itself come first in its help.
        self.registered_commands.sort(key=lambda command: command.callback in self.verbs)
        return super().__call__(*args, **named)


_RUN: Final = (serve, work)
_JOBS: Final[tuple[Verb, ...]] = (
    submit, jobs, show, watch, log, explain, cancel, retry, rerun, move, priority, skip,
)  # fmt: skip
_QUEUES: Final[tuple[Verb, ...]] = (
    queues, pause, resume, stop_after_current, limit, lanes, schedules, workers, devices,
    forecast,
)  # fmt: skip
_DATABASE: Final[tuple[Verb, ...]] = (migrate, prune, backup)


def commands(app: Fairlane | None = None) -> CommandLine:
    """Return the command line for any queue, or for the queue of one app."""
    program = CommandLine(
        no_args_is_help=True,
        pretty_exceptions_enable=False,
        context_settings={"help_option_names": ["-h", "--help"]},
    )
    home = None if app is None else app.database
    for run in _RUN:
        program.command(rich_help_panel="Run a program")(
            run if app is None else bind_first_argument(run, app)
        )
    for one in _JOBS:
        program.command(rich_help_panel="Jobs")(api_command(one, home))
    for one in _QUEUES:
        program.command(rich_help_panel="Queues")(api_command(one, home))
    program.command(rich_help_panel="The database")(
        bind_first_argument(doctor, home, target_options(home))
    )
    for one in _DATABASE:
        program.command(rich_help_panel="The database")(database_command(one, home))
    program.verbs = frozenset(command.callback for command in program.registered_commands)
    return program


program = commands()


def _print_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"fairlane {version('fairlane')}")
        raise typer.Exit


@program.callback()
def _fairlane(
    _: Annotated[
        bool,
        typer.Option("--version", help="Print the version", callback=_print_version, is_eager=True),
    ] = False,
) -> None:
    """A durable task queue inside your program: run it, inspect it, control it."""


def main() -> None:
    program(prog_name="fairlane")
