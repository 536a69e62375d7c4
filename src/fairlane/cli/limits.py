"""`fairlane limit`: how many at a time, how often, how much there is."""

import re
from typing import Annotated, Any, Final

import typer

from fairlane.cli.exit_codes import Misused, Refused
from fairlane.cli.paths import queue_path
from fairlane.cli.program_name import command
from fairlane.cli.target import ApiClient
from fairlane.cli.terminal import Terminal
from fairlane.cli.times import span, span_from

_RATE: Final = re.compile(r"(\d+)\s*(?:/|per)\s*(.+)")
CLEAR: Final = "default"
LONGEST_NUMBER: Final = 15  # digits, which is more than there are of anything


async def limit(
    steering: ApiClient,
    terminal: Terminal,
    name: Annotated[str | None, typer.Argument(help="A queue, a rate or a resource")] = None,
    value: Annotated[
        str | None, typer.Argument(help="6 at a time, 5/60s for a rate, or default")
    ] = None,
) -> None:
    """List the limits, or change one while everything runs.

    A number is how many jobs of a queue run at a time, or how much there is of a resource; 5/60s
    is a rate; "default" gives a limit back to what the code says.
    """
    queues = (await steering.get("/api/queues"))["items"]
    limits = (await steering.get("/api/limits"))["items"]
    if name is None:
        _list(terminal, queues, limits)
        return
    if value is None:
        queues = [queue for queue in queues if queue["name"] == name]
        limits = [limit for limit in limits if limit["key"] == name]
        if not queues and not limits:
            raise _unknown(name)
        _list(terminal, queues, limits)
        return
    is_queue = any(queue["name"] == name for queue in queues)
    kind = next((limit["kind"] for limit in limits if limit["key"] == name), None)
    if is_queue and _RATE.fullmatch(value) is None and (kind is None or value == CLEAR):
        body: dict[str, Any] = {"max_concurrent": None if value == CLEAR else _number(value)}
        queue = await steering.patch(queue_path(name), body)
        _list(terminal, [queue], [])
        return
    changed = await steering.put("/api/limits", _change(name, value, kind), key=name)
    _list(terminal, [], [changed])


def _change(name: str, value: str, kind: str | None) -> dict[str, Any]:
    rate = _RATE.fullmatch(value)
    if rate is not None:
        try:
            seconds = span_from(rate[2] if rate[2][0].isdigit() else f"1{rate[2][0]}")
        except ValueError as error:
            raise Misused(str(error)) from None
        return {"starts": _number(rate[1]), "per_seconds": seconds.total_seconds()}
    if kind is None:
        raise _unknown(name)
    if kind == "rate":
        if value != CLEAR:
            raise Misused(f'"{name}" is a rate; write how many in how long, as in 5/60s')
        return {"starts": None, "per_seconds": None}
    return {"amount": None if value == CLEAR else _number(value)}


def _number(value: str) -> int:
    if not value.isdecimal() or len(value) > LONGEST_NUMBER:
        raise Misused(f'"{value[:50]}" is not a limit; write a number, 5/60s or {CLEAR}')
    return int(value)


def _unknown(name: str) -> Refused:
    problem = {"status": 404, "code": "unknown_name"}
    said = f'there is no queue, rate or resource "{name}"; {command("limit")} lists them'
    return Refused({**problem, "detail": said})


def _list(terminal: Terminal, queues: list[dict[str, Any]], limits: list[dict[str, Any]]) -> None:
    if terminal.as_json:
        terminal.value({"queues": queues, "limits": limits})
        return
    rows = [
        (queue["name"], "queue", _at_a_time(queue), _whose(queue, "max_concurrent"))
        for queue in queues
    ]
    for limit in limits:
        most = (
            f"{limit['starts']} starts in {span(limit['per_seconds'])}"
            if limit["kind"] == "rate" and limit["starts"] is not None
            else f"{limit['amount']} in all"
        )
        rows.append((limit["key"], limit["kind"], most, _whose(limit, None)))
    terminal.table(("LIMIT", "KIND", "MOST", ""), rows)


def _at_a_time(queue: dict[str, Any]) -> str:
    most = queue["settings"]["max_concurrent"]
    return "no limit" if most is None else f"{most} at a time"


def _whose(view: dict[str, Any], setting: str | None) -> str:
    changed = view["changed_by_operator"]
    return "set by hand" if (setting in changed if setting else changed) else ""
