"""Typer commands made of coroutines: shared options, output and exit codes of all verbs."""

import asyncio
import inspect
import sys
from collections.abc import Callable, Coroutine, Mapping
from contextlib import suppress
from functools import wraps
from types import MappingProxyType
from typing import Annotated, Any, NoReturn

import typer

from fairlane.cli.exit_codes import (
    CONFLICT,
    NOT_FOUND,
    UNAVAILABLE,
    USAGE,
    ApiProblem,
    OutputUnwritable,
    Unreachable,
    UsageProblem,
)
from fairlane.cli.terminal import Terminal
from fairlane.errors import Conflict, FairlaneError, NotFound, StoreError

Verb = Callable[..., Coroutine[Any, Any, None]]

_PLACE = "Where the queue is"
_TOKEN = Annotated[
    str | None,
    typer.Option("--token", help="The server's token; also FAIRLANE_TOKEN", rich_help_panel=_PLACE),
]
_JSON = Annotated[bool, typer.Option("--json", help="Print JSON, for scripts")]


def target_options(home: str | None) -> dict[str, Any]:
    """Return the options of all commands; a program with a database ignores the environment."""
    url = "The URL of a running server"
    database = "The database itself" if home is None else "Another database than the program's"
    if home is None:
        url, database = f"{url}; also FAIRLANE_URL", f"{database}; also FAIRLANE_DATABASE"
    return {
        "url": Annotated[str | None, typer.Option("--url", help=url, rich_help_panel=_PLACE)],
        "database": Annotated[
            str | None, typer.Option("--database", help=database, rich_help_panel=_PLACE)
        ],
        "token": _TOKEN,
        "as_json": _JSON,
    }


def api_command(function: Verb, home: str | None = None) -> Callable[..., None]:
    """Make a command of a coroutine that takes an API client and a terminal first.

    `home` is the database of the program whose command line this is.
    """

    @wraps(function)
    def command(*, url: str | None, database: str | None, token: str | None,
                as_json: bool, **given: Any) -> None:  # fmt: skip
        terminal = Terminal(as_json=as_json)

        async def run() -> None:
            from fairlane.cli.target import open_target, target_from  # heavy, and an extra

            async with open_target(target_from(url, database, token, home)) as client:
                await function(client, terminal, **given)

        run_command(run, terminal)

    return _with_signature(command, function, target_options(home))


def database_command(function: Verb, home: str | None = None) -> Callable[..., None]:
    """Make a command of a coroutine that takes the address of a database and a terminal first."""

    @wraps(function)
    def command(*, database: str | None, as_json: bool, **given: Any) -> None:
        terminal = Terminal(as_json=as_json)

        async def run() -> None:
            from fairlane.cli.target import target_from

            target = target_from(None, database, None, home)
            if target.database is None:
                raise UsageProblem(f"{function.__name__} works on a database; give --database")
            await function(target.database, terminal, **given)

        run_command(run, terminal)

    options = target_options(home)
    return _with_signature(
        command, function, {name: options[name] for name in ("database", "as_json")}
    )


def bind_first_argument(
    function: Callable[..., None], first: Any, options: Mapping[str, Any] = MappingProxyType({})
) -> Callable[..., None]:
    """Make a command of a function by passing its first argument; `options` replace annotations."""

    @wraps(function)
    def command(**given: Any) -> None:
        function(first, **given)

    signature = inspect.signature(function, eval_str=True)
    _, *others = signature.parameters.values()
    rest = [one.replace(annotation=options.get(one.name, one.annotation)) for one in others]
    return _set_signature(command, signature.replace(parameters=rest))


def _with_signature(
    command: Callable[..., None], function: Verb, options: dict[str, Any]
) -> Callable[..., None]:
    """Give the command the coroutine's arguments after the first two, plus the shared options."""
    signature = inspect.signature(function, eval_str=True)
    own = list(signature.parameters.values())[2:]
    added = [
        inspect.Parameter(
            name,
            inspect.Parameter.KEYWORD_ONLY,
            default=False if name == "as_json" else None,
            annotation=annotation,
        )
        for name, annotation in options.items()
    ]
    return _set_signature(
        command, signature.replace(parameters=[*own, *added], return_annotation=None)
    )


def _set_signature(
    command: Callable[..., None], signature: inspect.Signature
) -> Callable[..., None]:
    """Make typer read this signature instead of the wrapped function's."""
    vars(command)["__signature__"] = signature
    command.__annotations__ = {
        parameter.name: parameter.annotation for parameter in signature.parameters.values()
    }
    del vars(command)["__wrapped__"]
    return command


def run_command(run: Callable[[], Coroutine[Any, Any, None]], terminal: Terminal) -> None:
    """Run a command; an error becomes one line on stderr and an exit code."""
    if sys.stdout is None:
        terminal.print_error("standard output is closed; redirect it to /dev/null instead")
        raise typer.Exit(USAGE)
    try:
        asyncio.run(run())
    except ApiProblem as error:
        exit_with_problem(
            terminal, str(error), error.hint, code=error.exit_code, problem=error.problem
        )
    except Unreachable as error:
        exit_with_problem(terminal, str(error), code=UNAVAILABLE)
    except UsageProblem as error:
        exit_with_problem(terminal, str(error), code=USAGE)
    except FairlaneError as error:
        exit_with_problem(terminal, error.message, error.hint, code=_exit_code_of(error))
    except OutputUnwritable as error:
        exit_with_problem(terminal, str(error), code=UNAVAILABLE)
    except KeyboardInterrupt:
        raise typer.Exit(130) from None
    except BrokenPipeError:
        raise typer.Exit(0) from None  # the reader of the pipe, such as `head`, has closed it


def _exit_code_of(error: FairlaneError) -> int:
    match error:
        case NotFound():
            return NOT_FOUND
        case Conflict():
            return CONFLICT
        case StoreError():
            return UNAVAILABLE
        case _:
            return USAGE


def exit_with_problem(
    terminal: Terminal,
    message: str,
    hint: str = "",
    *,
    code: int,
    problem: dict[str, Any] | None = None,
) -> NoReturn:
    if terminal.as_json:
        with suppress(BrokenPipeError, OutputUnwritable):  # the exit code reports it too
            terminal.print_json({"problem": problem or {"detail": message, "hint": hint}})
    terminal.print_error(message, hint)
    raise typer.Exit(code)
