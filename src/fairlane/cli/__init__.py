"""The command line: one file per verb."""

import typer

from fairlane.cli.work import work

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


program.command()(work)


def main() -> None:
    program(prog_name="fairlane")
