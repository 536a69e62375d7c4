"""What all verbs have in common: where the queue is, how answers look, how a command ends."""

import asyncio
import inspect
import sys
from collections.abc import Callable, Coroutine
from contextlib import suppress
from functools import wraps
from typing import Annotated, Any, NoReturn

import typer

from fairlane.cli.exit_codes import (
    CONFLICT,
    NOT_FOUND,
    UNAVAILABLE,
    USAGE,
    Misused,
    Refused,
    Unreachable,
    Unwritable,
)
from fairlane.cli.terminal import Terminal
from fairlane.errors import Conflict, FairlaneError, NotFound, StoreError

Verb = Callable[..., Coroutine[Any, Any, None]]

_URL = Annotated[
    str | None,
    typer.Option(
        "--url", help="A running server, also FAIRLANE_URL", rich_help_panel="Where the queue is"
    ),
]
_DATABASE = Annotated[
    str | None,
    typer.Option(
        "--database",
        help="Its database directly, also FAIRLANE_DATABASE",
        rich_help_panel="Where the queue is",
    ),
]
_TOKEN = Annotated[
    str | None,
    typer.Option(
        "--token", help="The server's token, also FAIRLANE_TOKEN",
        rich_help_panel="Where the queue is",
    ),
]  # fmt: skip
_JSON = Annotated[bool, typer.Option("--json", help="Answer with JSON, for scripts")]


def verb(function: Verb, home: str | None = None) -> Callable[..., None]:
    """Make a command of a coroutine that takes `open_target` and `terminal` before its arguments.

    `home` is the database of the program whose verb it is.
    """

    @wraps(function)
    def command(*, url: str | None, database: str | None, token: str | None,
                as_json: bool, **given: Any) -> None:  # fmt: skip
        terminal = Terminal(as_json=as_json)

        async def run() -> None:
            from fairlane.cli.target import open_target, target_from  # heavy, and an extra

            async with open_target(target_from(url, database, token, home)) as wheel:
                await function(wheel, terminal, **given)

        carried_out(run, terminal)

    return _with_signature(command, function, {"url": _URL, "database": _DATABASE, "token": _TOKEN})


def upkeep(function: Verb, home: str | None = None) -> Callable[..., None]:
    """Make a command of a coroutine that takes the address of a database and `terminal`."""

    @wraps(function)
    def command(*, database: str | None, as_json: bool, **given: Any) -> None:
        terminal = Terminal(as_json=as_json)

        async def run() -> None:
            from fairlane.cli.target import target_from

            place = target_from(None, database, None, home)
            if place.database is None:
                raise Misused(f"{function.__name__} works on a database; give --database")
            await function(place.database, terminal, **given)

        carried_out(run, terminal)

    return _with_signature(command, function, {"database": _DATABASE})


def bound(function: Callable[..., None], first: Any) -> Callable[..., None]:
    """Make a command of one that takes an argument before all others, which is settled."""

    @wraps(function)
    def command(**given: Any) -> None:
        function(first, **given)

    signature = inspect.signature(function, eval_str=True)
    _, *rest = signature.parameters.values()
    return _shown(command, signature.replace(parameters=rest))


def _with_signature(
    command: Callable[..., None], function: Verb, places: dict[str, Any]
) -> Callable[..., None]:
    """Show typer the arguments of the coroutine, and then those that all verbs take."""
    signature = inspect.signature(function, eval_str=True)
    own = list(signature.parameters.values())[2:]
    shared = {**dict.fromkeys(places), "as_json": False}
    types = {**places, "as_json": _JSON}
    added = [
        inspect.Parameter(
            name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=types[name]
        )
        for name, default in shared.items()
    ]
    return _shown(command, signature.replace(parameters=[*own, *added], return_annotation=None))


def _shown(command: Callable[..., None], signature: inspect.Signature) -> Callable[..., None]:
    """Show typer these arguments, and not those of what was wrapped."""
    command.__signature__ = signature  # type: ignore[attr-defined]
    command.__annotations__ = {
        parameter.name: parameter.annotation for parameter in signature.parameters.values()
    }
    del command.__wrapped__  # type: ignore[attr-defined]
    return command


def carried_out(run: Callable[[], Coroutine[Any, Any, None]], terminal: Terminal) -> None:
    """Run a command to its end; what goes wrong is one sentence on stderr and an exit code."""
    if sys.stdout is None:
        terminal.trouble("standard output is closed; send what you do not want to /dev/null")
        raise typer.Exit(USAGE)
    try:
        asyncio.run(run())
    except Refused as error:
        ended(terminal, str(error), error.hint, code=error.exit_code, problem=error.problem)
    except Unreachable as error:
        ended(terminal, str(error), code=UNAVAILABLE)
    except Misused as error:
        ended(terminal, str(error), code=USAGE)
    except FairlaneError as error:
        ended(terminal, error.message, error.hint, code=_code_of(error))
    except Unwritable as error:
        ended(terminal, str(error), code=UNAVAILABLE)
    except KeyboardInterrupt:
        raise typer.Exit(130) from None
    except BrokenPipeError:
        raise typer.Exit(0) from None  # whoever read has seen enough


def _code_of(error: FairlaneError) -> int:
    match error:
        case NotFound():
            return NOT_FOUND
        case Conflict():
            return CONFLICT
        case StoreError():
            return UNAVAILABLE
        case _:
            return USAGE


def ended(
    terminal: Terminal,
    message: str,
    hint: str = "",
    *,
    code: int,
    problem: dict[str, Any] | None = None,
) -> NoReturn:
    if terminal.as_json:
        with suppress(BrokenPipeError, Unwritable):  # the exit code says it as well
            terminal.value({"problem": problem or {"detail": message, "hint": hint}})
    terminal.trouble(message, hint)
    raise typer.Exit(code)
