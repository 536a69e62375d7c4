"""`fairlane serve module:app`: run a program's jobs, its HTTP API and its console."""

import asyncio
import contextlib
import errno
import socket
from collections.abc import Iterator
from ipaddress import ip_address
from typing import TYPE_CHECKING, Annotated

import typer

from fairlane import logs
from fairlane.app import Fairlane
from fairlane.cli.app_import import exit_with, import_app
from fairlane.cli.exit_codes import UNAVAILABLE
from fairlane.cli.signals import ShutdownSignals, echo, stopping_message
from fairlane.errors import FairlaneError, StoreError

if TYPE_CHECKING:
    import uvicorn
    from fastapi import FastAPI

PORT = 8420
_OPEN_REQUEST_SECONDS = 3  # the time that open requests have to finish at shutdown


def serve(
    app: Annotated[
        Fairlane,
        typer.Argument(help="The app, as in tasks:app", metavar="MODULE:APP", parser=import_app),
    ],
    *,
    host: Annotated[
        str, typer.Option(help="The address to listen on", envvar="FAIRLANE_HOST")
    ] = "127.0.0.1",
    port: Annotated[
        int,
        typer.Option(
            help="The port; 0 chooses a free one", envvar="FAIRLANE_PORT", min=0, max=65535
        ),
    ] = PORT,
    token: Annotated[
        str | None,
        typer.Option(help="The token of clients that may read and change", envvar="FAIRLANE_TOKEN"),
    ] = None,
    read_token: Annotated[
        str | None,
        typer.Option(help="The token of clients that may only read", envvar="FAIRLANE_READ_TOKEN"),
    ] = None,
    allow_host: Annotated[
        list[str] | None,
        typer.Option(help="A host name that clients may use; may be repeated"),
    ] = None,
    log_json: Annotated[
        bool, typer.Option("--log-json", help="Log one JSON object per line")
    ] = False,
) -> None:
    """Serve the console and the HTTP API, and run jobs, until SIGTERM or Ctrl-C.

    Without a token, the server listens only on a loopback address and serves only this machine.
    Other users of the machine can see a token on the command line, but not FAIRLANE_TOKEN. Host
    names in FAIRLANE_ALLOWED_HOSTS, separated by commas, are allowed as well.
    """
    logs.configure(json=log_json)
    if not (token or read_token or _is_loopback(host)):
        exit_with(
            f"other machines can reach {host}, so a token is required; set FAIRLANE_TOKEN, or use "
            "--host 127.0.0.1"
        )
    try:
        hosts = [host, *(allow_host or ())]
        application = app.asgi(token=token, read_token=read_token, hosts=hosts)
        with _open_listener(host, port) as listener:
            _run(app, application, listener)
    except StoreError as error:
        exit_with(str(error), code=UNAVAILABLE)
    except FairlaneError as error:
        exit_with(str(error))


def _run(app: Fairlane, application: "FastAPI", listener: socket.socket) -> None:
    server = _new_server(application)
    with asyncio.Runner(loop_factory=server.config.get_loop_factory()) as runner:
        runner.run(_serve(app, application, server, listener))


def _new_server(application: "FastAPI") -> "uvicorn.Server":
    import uvicorn  # in the extra `server`; asgi() already checked that it is installed

    from fairlane.cli.http_protocol import BoundedHttpProtocol

    class Server(uvicorn.Server):
        """A uvicorn server without signal handlers: the engine handles signals, and stops last."""

        @contextlib.contextmanager
        def capture_signals(self) -> Iterator[None]:
            yield

    return Server(
        uvicorn.Config(
            application,
            http=BoundedHttpProtocol,
            log_config=None,
            log_level="warning",
            server_header=False,
            timeout_graceful_shutdown=_OPEN_REQUEST_SECONDS,
            ws_max_size=64 * 1024,  # clients only read the stream
            ws_per_message_deflate=False,  # costs CPU per follower, for small messages
        )
    )


async def _serve(
    app: Fairlane, application: "FastAPI", server: "uvicorn.Server", listener: socket.socket
) -> None:
    signals = ShutdownSignals()
    async with signals.run_engine(app) as engine:
        if engine is not None:
            serving = asyncio.create_task(server.serve(sockets=[listener]))
            stop_waiter = asyncio.create_task(signals.stop_requested.wait())
            typer.echo(f"serving {engine.store.address} on {_url(listener)}")
            await asyncio.wait([serving, stop_waiter], return_when=asyncio.FIRST_COMPLETED)
            echo(stopping_message(app))
            server.should_exit = True
            if hasattr(application.state, "stream"):
                application.state.stream.close()  # an open stream would delay the shutdown
            await serving
            stop_waiter.cancel()
    echo("stopped")


@contextlib.contextmanager
def _open_listener(host: str, port: int) -> Iterator[socket.socket]:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        listener = socket.create_server((host, port), family=family, backlog=2048)
    except OSError as error:
        why = error.strerror or str(error)
        if error.errno in (errno.EADDRINUSE, errno.EACCES):
            why += "; choose another port with --port, or 0 for a free one"
        exit_with(f"cannot listen on {host}, port {port}: {why}", code=UNAVAILABLE)
    with listener:
        yield listener


def _url(listener: socket.socket) -> str:
    host, port = listener.getsockname()[:2]
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"


def _is_loopback(host: str) -> bool:
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"
