"""The command line: one file per verb, or per family of verbs."""

import io
import sys
from typing import Final

import typer

from fairlane.cli.doctor import doctor
from fairlane.cli.endings import USAGE
from fairlane.cli.explain import explain
from fairlane.cli.forecast import forecast
from fairlane.cli.jobs import jobs, show
from fairlane.cli.keeping import backup, migrate, prune
from fairlane.cli.lanes import lanes
from fairlane.cli.limits import limit
from fairlane.cli.log import log
from fairlane.cli.queues import pause, queues, resume, stop_after_current
from fairlane.cli.schedules import schedules
from fairlane.cli.serve import serve
from fairlane.cli.steps import cancel, move, priority, rerun, retry, skip
from fairlane.cli.submit import submit
from fairlane.cli.verbs import Verb, upkeep, verb
from fairlane.cli.watch import watch
from fairlane.cli.work import work
from fairlane.cli.workers import workers

program = typer.Typer(
    name="fairlane",
    help="A durable task queue inside your program: look at it, steer it, run it.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


@program.callback()
def _fairlane() -> None:
    """Serial in a lane, parallel across lanes, fair to everyone."""


for _command in (serve, work):
    program.command(rich_help_panel="Run a program")(_command)
_JOBS: Final[tuple[Verb, ...]] = (
    submit, jobs, show, watch, log, explain, cancel, retry, rerun, move, priority, skip,
)  # fmt: skip
_QUEUES: Final[tuple[Verb, ...]] = (
    queues, pause, resume, stop_after_current, limit, lanes, schedules, workers, forecast,
)  # fmt: skip
_DATABASE: Final[tuple[Verb, ...]] = (migrate, prune, backup)

for _verb in _JOBS:
    program.command(rich_help_panel="Jobs")(verb(_verb))
for _verb in _QUEUES:
    program.command(rich_help_panel="Queues")(verb(_verb))
program.command(rich_help_panel="The database")(doctor)
for _verb in _DATABASE:
    program.command(rich_help_panel="The database")(upkeep(_verb))


def main() -> None:
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")  # a name need not fit the terminal
    for word in sys.argv[1:]:
        if any("\ud800" <= character <= "\udfff" for character in word):
            shown = word.encode(errors="backslashreplace").decode()
            typer.echo(f'fairlane: "{shown}" is not text; write it in UTF-8', err=True)
            sys.exit(USAGE)
    program(prog_name="fairlane")
