"""The HTTP server of the stand-in: logins, faults, and its control endpoints under /stand-in/."""

import socket
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Final
from urllib.parse import parse_qsl, urlsplit

import msgspec

from fairlane_dnslog.stand_in.api import Api, Request, Response
from fairlane_dnslog.stand_in.faults import Fault, FaultPlan
from fairlane_dnslog.stand_in.login import Login
from fairlane_dnslog.stand_in.misbehaviour import misbehave
from fairlane_dnslog.stand_in.server_state import ServerState
from fairlane_dnslog.timestamps import SECOND_NS

LARGEST_BODY: Final = 16 * 1024 * 1024
IDLE_SECONDS: Final = 120.0


class HttpServer(ThreadingHTTPServer):
    """The listening socket, and the connections, which it closes when it stops."""

    daemon_threads = True
    allow_reuse_address = True
    request_queue_size = 128

    def __init__(self, address: tuple[str, int], state: ServerState, faults: FaultPlan) -> None:
        options = state.options
        self.state = state
        self.faults = faults
        self.api = Api(state)
        self.login = Login(
            options.username,
            options.password,
            attempts=options.login_attempts,
            block_seconds=options.block_seconds,
        )
        self.requests = 0
        self._open_lock = threading.Lock()
        self._open: set[socket.socket] = set()
        super().__init__(address, Handler)

    def process_request(self, request: Any, client_address: Any) -> None:
        with self._open_lock:
            self._open.add(request)
        super().process_request(request, client_address)

    def shutdown_request(self, request: Any) -> None:
        with self._open_lock:
            self._open.discard(request)
        super().shutdown_request(request)

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Ignore the errors of a connection: clients come and go."""

    def close_connections(self) -> None:
        """End all connections, as the death of a process does."""
        with self._open_lock:
            connections = list(self._open)
        for connection in connections:
            try:
                connection.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass  # the client closed it


class Handler(BaseHTTPRequestHandler):
    server: HttpServer
    protocol_version = "HTTP/1.1"
    timeout = IDLE_SECONDS
    wbufsize = -1  # head and body in one packet
    disable_nagle_algorithm = True

    def do_GET(self) -> None:
        self._serve()

    do_POST = do_PUT = do_DELETE = do_GET  # noqa: N815 - the same

    def log_message(self, format: str, *args: Any) -> None:
        """Write no lines about requests."""

    def _serve(self) -> None:
        request = self._read_request()
        if request is None:
            self.close_connection = True
            self.send(Response(413, b"too large", "text/plain"))
            return
        if request.path.startswith("/stand-in/"):
            self.send(self._control(request))
            return
        self.server.requests += 1
        fault = self.server.faults.pop(request.path)
        if fault is not None:
            misbehave(self, request, fault)
            return
        self.send(self.answer(request))

    def answer(self, request: Request) -> Response:
        """Return the right answer to a request."""
        state = self.server.state
        accepted = self.server.login.accepts(
            self.headers.get("Authorization", ""),
            str(self.client_address[0]),
            state.now_ns() / SECOND_NS,
        )
        return self.server.api.answer(request) if accepted else Response(401, b"", "text/plain")

    def send(self, response: Response, *, length: int | None = None, **headers: str) -> None:
        self.send_response(response.status)
        self.send_header("Content-Type", response.kind)
        self.send_header("Content-Length", str(len(response.body) if length is None else length))
        for name, value in headers.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(response.body)
        self.wfile.flush()

    def _read_request(self) -> Request | None:
        length = self.headers.get("Content-Length", "0")
        if not length.isdigit() or int(length) > LARGEST_BODY:
            return None
        parts = urlsplit(self.path)
        query = dict(parse_qsl(parts.query, keep_blank_values=True))
        return Request(self.command, parts.path, query, self.rfile.read(int(length)))

    def _control(self, request: Request) -> Response:
        """Answer the control endpoints: `faults` (GET, PUT, DELETE), `rate` (PUT), `counts`."""
        state, faults = self.server.state, self.server.faults
        try:
            match request.method, request.path.removeprefix("/stand-in/"):
                case "PUT", "faults":
                    faults.set(msgspec.json.decode(request.body, type=list[Fault]))
                case "DELETE", "faults":
                    faults.set([])
                case "GET", "faults":
                    pass
                case "PUT", "rate":
                    state.set_rate(msgspec.json.decode(request.body, type=float))
                case "GET", "counts":
                    with state.lock:
                        state.advance()
                        counts = {"rows": len(state.log), "logged": state.log.last_number}
                    return Response(200, msgspec.json.encode(counts))
                case _:
                    return Response(404, b"not found", "text/plain")
        except msgspec.MsgspecError as error:
            return Response(400, str(error).encode(), "text/plain")
        return Response(200, msgspec.json.encode(faults.active()))
