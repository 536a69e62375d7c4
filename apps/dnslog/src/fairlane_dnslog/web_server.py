"""One process with everything: the pages, the Fairlane console and the program behind them."""

import asyncio
import contextlib
import errno
import os
import signal
import socket
from collections.abc import Callable, Iterator
from typing import Any, Final

import uvicorn
from a2wsgi import WSGIMiddleware

from fairlane import BadSetting
from fairlane_dnslog.console_gate import ConsoleGate, Receive, Scope, Send
from fairlane_dnslog.program import Program
from fairlane_dnslog.request_body import BodyRefused, read_body
from fairlane_dnslog.web.application import create_web

PAGE_THREADS: Final = 8  # as many as the database has connections
MOST_CONNECTIONS: Final = 500
SHUTDOWN_SECONDS: Final = 3  # the time that open requests have to finish


class Site:
    """The pages at `/` and the console at `/queue/`, as one ASGI application."""

    def __init__(self, program: Program) -> None:
        web = create_web(program)
        self._console = ConsoleGate(web, program.app)
        wsgi: Any = web  # the two libraries have different types for one environment
        self._pages: Any = WSGIMiddleware(wsgi, workers=PAGE_THREADS)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        # WSGI has one name for X_Forwarded_For and X-Forwarded-For, which a proxy controls.
        pairs = [pair for pair in scope.get("headers", ()) if b"_" not in pair[0]]
        scope = {**scope, "headers": pairs}
        if not scope.get("query_string", b"").isascii():  # WSGI has no form for these bytes
            await _refuse(send, 400, "the query is not ASCII")
        elif ConsoleGate.is_responsible(scope["path"]):
            await self._console(scope, receive, send)
        else:
            try:
                receive = await read_body(scope, receive)
            except BodyRefused as refused:
                await _refuse(send, refused.status, str(refused))
                return
            await self._pages(scope, receive, send)

    def close(self) -> None:
        """End the streams that are open."""
        self._console.close()


async def _refuse(send: Send, status: int, reason: str) -> None:
    headers = [(b"content-type", b"text/plain; charset=utf-8"), (b"connection", b"close")]
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": reason.encode()})


class _Server(uvicorn.Server):
    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Leave the signals to `serve_site`, which stops the program as well."""
        yield


def serve_site(program: Program, listener: socket.socket, *, announce: Callable[[], None]) -> None:
    """Start the program and serve it until SIGTERM or Ctrl-C; `announce` when it is reachable."""
    site = Site(program)
    config = uvicorn.Config(
        site,
        lifespan="off",
        log_config=None,
        log_level="warning",
        server_header=False,
        # The limit of logins depends on the address, which any local program could choose.
        proxy_headers=False,
        limit_concurrency=MOST_CONNECTIONS,
        timeout_graceful_shutdown=SHUTDOWN_SECONDS,
    )
    server = _Server(config)

    async def serve() -> None:
        stopping = asyncio.Event()

        def stop() -> None:
            server.force_exit = stopping.is_set()  # the second signal does not wait
            stopping.set()

        for number in (signal.SIGINT, signal.SIGTERM):
            asyncio.get_running_loop().add_signal_handler(number, stop)
        async with program.app:  # the streams of the console need the queue on their own loop
            await asyncio.to_thread(program.start)
            serving = asyncio.create_task(server.serve(sockets=[listener]))
            waiting = asyncio.create_task(stopping.wait())
            announce()
            await asyncio.wait([serving, waiting], return_when=asyncio.FIRST_COMPLETED)
            site.close()
            server.should_exit = True
            await serving
            waiting.cancel()
        await asyncio.to_thread(program.stop)

    asyncio.run(serve())


def open_listener(host: str, port: int) -> socket.socket:
    """Return a listening socket; port 0 is a free one."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        return socket.create_server((host, port), family=family, backlog=1024)
    except OSError as error:
        number = error.errno or 0  # below 0 for a host name that is not known
        why = os.strerror(number) if number > 0 else str(error)
        if error.errno in (errno.EADDRINUSE, errno.EACCES):
            why += "; choose another one with --port, or 0 for a free one"
        raise BadSetting(f"cannot listen on {host}, port {port}: {why}") from None


def address_of(listener: socket.socket) -> str:
    """Return an address that a browser can open, also of a listener on all addresses."""
    host, port = listener.getsockname()[:2]
    if host in ("0.0.0.0", "::"):  # noqa: S104 - compared, not listened on
        host = _address_in_the_network()
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"


def _address_in_the_network() -> str:
    """Return the address of this machine towards other networks, else that of the machine itself.

    To connect a UDP socket sends no packet; it chooses the address by the routes.
    """
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        try:
            probe.connect(("192.0.2.1", 9))  # an address of documents, which no machine has
        except OSError:
            return "127.0.0.1"
        return str(probe.getsockname()[0])
