"""`fairlane limit`: list and change the limits of queues, rates and resources."""

import re
from typing import Annotated, Any, Final

import typer

from fairlane.cli.api_client import ApiClient
from fairlane.cli.exit_codes import ApiProblem, UsageProblem
from fairlane.cli.paths import queue_path
from fairlane.cli.program_name import command_text
from fairlane.cli.terminal import Terminal
from fairlane.cli.times import format_span, parse_span

_RATE: Final = re.compile(r"(\d+)\s*(?:/|per)\s*(.+)")
CLEAR: Final = "default"
LONGEST_NUMBER: Final = 15  # digits; below the largest integer that JSON clients represent exactly


async def limit(
    client: ApiClient,
    terminal: Terminal,
    name: Annotated[str | None, typer.Argument(help="A queue, a rate or a resource")] = None,
    value: Annotated[
        str | None, typer.Argument(help="A number, a rate such as 5/60s, or default")
    ] = None,
) -> None:
    """List the limits, or change one while jobs run.

    A number is the limit of running jobs of a queue, or the amount of a resource; 5/60s is a rate;
    "default" restores the limit in the code.
    """
    queues = (await client.get("/api/queues"))["items"]
    limits = (await client.get("/api/limits"))["items"]
    if name is None:
        _print_limits(terminal, queues, limits)
        return
    if value is None:
        queues = [queue for queue in queues if queue["name"] == name]
        limits = [limit for limit in limits if limit["key"] == name]
        if not queues and not limits:
            raise _unknown_limit(name)
        _print_limits(terminal, queues, limits)
        return
    is_queue = any(queue["name"] == name for queue in queues)
    kind = next((limit["kind"] for limit in limits if limit["key"] == name), None)
    if is_queue and _RATE.fullmatch(value) is None and (kind is None or value == CLEAR):
        body: dict[str, Any] = {"max_concurrent": None if value == CLEAR else _parse_number(value)}
        queue = await client.patch(queue_path(name), body)
        _print_limits(terminal, [queue], [])
        return
    changed = await client.put("/api/limits", _limit_change(name, value, kind), key=name)
    _print_limits(terminal, [], [changed])


def _limit_change(name: str, value: str, kind: str | None) -> dict[str, Any]:
    rate = _RATE.fullmatch(value)
    if rate is not None:
        try:
            seconds = parse_span(rate[2] if rate[2][0].isdigit() else f"1{rate[2][0]}")
        except ValueError as error:
            raise UsageProblem(str(error)) from None
        return {"starts": _parse_number(rate[1]), "per_seconds": seconds.total_seconds()}
    if kind is None:
        raise _unknown_limit(name)
    if kind == "rate":
        if value != CLEAR:
            raise UsageProblem(
                f'"{name}" is a rate; expected starts per time such as 5/60s, or {CLEAR}'
            )
        return {"starts": None, "per_seconds": None}
    return {"amount": None if value == CLEAR else _parse_number(value)}


def _parse_number(value: str) -> int:
    if not value.isdecimal() or len(value) > LONGEST_NUMBER:
        raise UsageProblem(
            f'"{value[:50]}" is not a limit; expected a number, a rate such as 5/60s, or {CLEAR}'
        )
    return int(value)


def _unknown_limit(name: str) -> ApiProblem:
    problem = {"status": 404, "code": "unknown_name"}
    detail = f'there is no queue, rate or resource "{name}"; {command_text("limit")} lists them'
    return ApiProblem({**problem, "detail": detail})


def _print_limits(
    terminal: Terminal, queues: list[dict[str, Any]], limits: list[dict[str, Any]]
) -> None:
    if terminal.as_json:
        terminal.print_json({"queues": queues, "limits": limits})
        return
    rows = [
        (queue["name"], "queue", _at_a_time(queue), _set_by(queue, "max_concurrent"))
        for queue in queues
    ]
    for limit in limits:
        most = (
            f"{limit['starts']} starts in {format_span(limit['per_seconds'])}"
            if limit["kind"] == "rate" and limit["starts"] is not None
            else f"{limit['amount']} in all"
        )
        rows.append((limit["key"], limit["kind"], most, _set_by(limit, None)))
    terminal.print_table(("LIMIT", "KIND", "VALUE", "SET BY"), rows)


def _at_a_time(queue: dict[str, Any]) -> str:
    most = queue["settings"]["max_concurrent"]
    return "no limit" if most is None else f"{most} at a time"


def _set_by(view: dict[str, Any], setting: str | None) -> str:
    changed = view["changed_by_operator"]
    return "operator" if (setting in changed if setting else changed) else ""
