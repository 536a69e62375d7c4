"""Import the app that `module:app` names."""

import importlib
import sys
from pathlib import Path
from typing import NoReturn

import typer

from fairlane.app import Fairlane
from fairlane.cli.exit_codes import USAGE
from fairlane.cli.program_name import program_name


def exit_with(message: str, *, code: int = USAGE) -> NoReturn:
    typer.echo(f"{program_name()}: {message}", err=True)
    raise typer.Exit(code)


def import_app(program: str) -> Fairlane:
    """Import a program and return its app, or exit with a message about the name."""
    module_name, _, path = program.partition(":")
    if not module_name or not path:
        exit_with(f'"{program}" does not name an app; write module:app, as in "tasks:app"')
    here = str(Path.cwd())
    if here not in sys.path:
        sys.path.insert(0, here)  # as `python -m` does
    try:
        found: object = importlib.import_module(module_name)
    except ModuleNotFoundError as error:
        if error.name is None or not (module_name + ".").startswith(error.name + "."):
            raise  # the program itself imports a module that is missing
        exit_with(f'module "{module_name}" was not found in {here} or among installed packages')
    for name in path.split("."):
        if not hasattr(found, name):
            apps = [key for key, value in vars(found).items() if isinstance(value, Fairlane)]
            hint = f"; it has {', '.join(sorted(apps))}" if apps else ""
            exit_with(f'"{module_name}" has no "{name}"{hint}')
        found = getattr(found, name)
    if not isinstance(found, Fairlane):
        exit_with(f'"{program}" is of type {type(found).__name__}; expected a Fairlane app')
    return found
