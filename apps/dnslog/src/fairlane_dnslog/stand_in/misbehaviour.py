"""The faults at work: each sends a wrong answer over a real connection."""

from typing import TYPE_CHECKING, Any, Final

import msgspec

from fairlane_dnslog.stand_in.api import Request, Response
from fairlane_dnslog.stand_in.faults import Fault
from fairlane_dnslog.timestamps import SECOND_NS, format_time_ns, parse_time_ns

if TYPE_CHECKING:
    from fairlane_dnslog.stand_in.http_server import Handler

_PAGE: Final = Response(200, b"<!doctype html><title>Router</title><h1>Login</h1>", "text/html")
_WRONG_TYPES: Final = {"data": [{"time": 5, "question": ["name"], "client": {}}], "oldest": []}
_PIECE: Final = b" " * 65_536


def misbehave(handler: "Handler", request: Request, fault: Fault) -> None:
    """Answer a request with a fault."""
    match fault.kind:
        case "status":
            handler.send(Response(fault.status, b"a fault", "text/plain"))
        case "delay":
            handler.server.faults.released.wait(fault.seconds)
            handler.send(handler.answer(request))
        case "drip":
            answer = handler.answer(request)
            handler.send(answer._replace(body=b""), length=len(answer.body))
            _drip(handler, answer.body, fault)
        case "drip_head":
            _drip(handler, b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n", fault)
        case "html":
            handler.send(_PAGE)
        case "redirect":
            handler.send(Response(302, b"", "text/plain"), Location=fault.target)
        case "oversize":
            _send_oversize(handler, fault.size)
        case "drop":
            handler.close_connection = True
        case "cut":
            body = handler.answer(request).body
            handler.send(Response(200, body[: len(body) // 2]), length=len(body) + 1)
            handler.close_connection = True
        case "malformed":
            answer = handler.answer(request)
            handler.send(answer._replace(body=answer.body[: len(answer.body) // 2]))
        case "wrong_types":
            handler.send(_json(_WRONG_TYPES))
        case "endless":
            handler.send(_json(_invented_page(request)))
        case "repeat":
            handler.send(handler.answer(request._replace(query={"limit": "2"})))
        case "empty_pages":
            rows = msgspec.json.decode(handler.answer(request).body)
            handler.send(_json({"data": [], "oldest": rows["oldest"]}))
        case "flush":
            handler.send(_json(_page_while_flushing(handler, request, fault)))


def _page_while_flushing(handler: "Handler", request: Request, fault: Fault) -> dict[str, Any]:
    """Return a page without the rows that are in the buffer no more, and not yet in the file."""
    limit = int(request.query.get("limit", "500"))
    wider = dict(request.query) | {"limit": str(limit + fault.hidden)}
    rows = msgspec.json.decode(handler.answer(request._replace(query=wider)).body)["data"]
    seen = (rows[: fault.size] + rows[fault.size + fault.hidden :])[:limit]
    return {"data": seen, "oldest": seen[-1]["time"] if seen else ""}


def _drip(handler: "Handler", body: bytes, fault: Fault) -> None:
    for number in range(len(body)):
        if handler.server.faults.released.wait(fault.seconds):
            break
        handler.wfile.write(body[number : number + 1])
        handler.wfile.flush()
    handler.close_connection = True


def _send_oversize(handler: "Handler", size: int) -> None:
    """Send JSON of a size that is not announced, so that a client has to count."""
    handler.send_response(200)
    handler.send_header("Content-Type", "application/json")
    handler.send_header("Connection", "close")
    handler.end_headers()
    handler.close_connection = True
    handler.wfile.write(b'{"data":[],"oldest":""')
    for _ in range(size // len(_PIECE)):
        handler.wfile.write(_PIECE)
    handler.wfile.write(b"}")


def _invented_page(request: Request) -> dict[str, Any]:
    """Return a page that is a second older than the requested one; there is always one more."""
    older_than = request.query.get("older_than") or "2026-01-01T00:00:00Z"
    at_ns = parse_time_ns(older_than) - SECOND_NS
    row = {
        "time": format_time_ns(at_ns),
        "question": {"name": "endless.example", "type": "A", "class": "IN"},
        "client": "192.0.2.1",
    }
    return {"data": [row], "oldest": row["time"]}


def _json(value: object) -> Response:
    return Response(200, msgspec.json.encode(value))
