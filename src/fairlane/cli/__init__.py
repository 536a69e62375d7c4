"""The command line: one file per verb, or per family of verbs."""

import io
import sys
from typing import Any, Final

import typer

from fairlane.app import Fairlane
from fairlane.cli.command import Verb, bound, upkeep, verb
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
from fairlane.cli.program_name import call_ourselves, our_name
from fairlane.cli.queues import pause, queues, resume, stop_after_current
from fairlane.cli.schedules import schedules
from fairlane.cli.serve import serve
from fairlane.cli.submit import submit
from fairlane.cli.watch import watch
from fairlane.cli.work import work
from fairlane.cli.workers import workers


class CommandLine(typer.Typer):
    """A command line that can show any name and takes only text."""

    verbs: frozenset[Any] = frozenset()  # those that every program has

    def __call__(self, *args: Any, **named: Any) -> Any:
        call_ourselves(named.get("prog_name"))
        for stream in (sys.stdout, sys.stderr):
            if isinstance(stream, io.TextIOWrapper):
                stream.reconfigure(errors="backslashreplace")  # a name need not fit the terminal
        for word in sys.argv[1:]:
            if any("\ud800" <= character <= "\udfff" for character in word):
                shown = word.encode(errors="backslashreplace").decode()
                typer.echo(f'{our_name()}: "{shown}" is not text; write it in UTF-8', err=True)
                sys.exit(USAGE)
        # A program's own commands are what its users look for first.
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
    """Return the verbs for any queue, or for that of one app."""
    program = CommandLine(
        no_args_is_help=True,
        pretty_exceptions_enable=False,
        context_settings={"help_option_names": ["-h", "--help"]},
    )
    home = None if app is None else app.database
    for run in _RUN:
        program.command(rich_help_panel="Run a program")(run if app is None else bound(run, app))
    for one in _JOBS:
        program.command(rich_help_panel="Jobs")(verb(one, home))
    for one in _QUEUES:
        program.command(rich_help_panel="Queues")(verb(one, home))
    program.command(rich_help_panel="The database")(bound(doctor, home))
    for one in _DATABASE:
        program.command(rich_help_panel="The database")(upkeep(one, home))
    program.verbs = frozenset(command.callback for command in program.registered_commands)
    return program


program = commands()


@program.callback()
def _fairlane() -> None:
    """A durable task queue inside your program: look at it, steer it, run it."""


def main() -> None:
    program(prog_name="fairlane")
