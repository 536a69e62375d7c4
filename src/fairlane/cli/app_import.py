"""From `module:app` to the app of a program."""

import importlib
import sys
from pathlib import Path
from typing import NoReturn

import typer

from fairlane.app import Fairlane
from fairlane.cli.program_name import our_name

USAGE, UNAVAILABLE = 2, 5


def fail(message: str, *, code: int = USAGE) -> NoReturn:
    typer.echo(f"{our_name()}: {message}", err=True)
    raise typer.Exit(code)


def find_app(program: str) -> Fairlane:
    """Import a program and return its app, or say what is wrong with the name."""
    module_name, _, path = program.partition(":")
    if not module_name or not path:
        fail(f'"{program}" does not name an app; write module:app, as in "tasks:app"')
    here = str(Path.cwd())
    if here not in sys.path:
        sys.path.insert(0, here)  # as `python -m` does
    try:
        found: object = importlib.import_module(module_name)
    except ModuleNotFoundError as error:
        if error.name is None or not (module_name + ".").startswith(error.name + "."):
            raise  # something that the program itself imports
        fail(f'there is no module "{module_name}" here ({here}) or among what is installed')
    for name in path.split("."):
        if not hasattr(found, name):
            apps = [key for key, value in vars(found).items() if isinstance(value, Fairlane)]
            hint = f"; it has {', '.join(sorted(apps))}" if apps else ""
            fail(f'"{module_name}" has no "{name}"{hint}')
        found = getattr(found, name)
    if not isinstance(found, Fairlane):
        fail(f'"{program}" is {type(found).__name__}, not a Fairlane app')
    return found
