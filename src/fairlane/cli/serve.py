"""`fairlane serve module:app`: run a program's jobs, and have them steered over HTTP."""

import asyncio
import contextlib
import socket
from collections.abc import Iterator
from ipaddress import ip_address
from typing import TYPE_CHECKING, Annotated

import typer

from fairlane import logs
from fairlane.app import Fairlane
from fairlane.cli.app_import import UNAVAILABLE, fail, find_app
from fairlane.cli.signals import Stopping, farewell, say
from fairlane.errors import FairlaneError, StoreError

if TYPE_CHECKING:
    import uvicorn
    from fastapi import FastAPI

PORT = 8420
_FAREWELL_SECONDS = 3  # for requests that are under way


def serve(
    app: Annotated[
        Fairlane,
        typer.Argument(help="The app, as in tasks:app", metavar="MODULE:APP", parser=find_app),
    ],
    *,
    host: Annotated[
        str, typer.Option(help="The address to listen on", envvar="FAIRLANE_HOST")
    ] = "127.0.0.1",
    port: Annotated[
        int, typer.Option(help="0 takes a free one", envvar="FAIRLANE_PORT", min=0, max=65535)
    ] = PORT,
    token: Annotated[
        str | None,
        typer.Option(help="What clients must show to change anything", envvar="FAIRLANE_TOKEN"),
    ] = None,
    read_token: Annotated[
        str | None,
        typer.Option(help="What clients may show to look only", envvar="FAIRLANE_READ_TOKEN"),
    ] = None,
    allow_host: Annotated[
        list[str] | None,
        typer.Option(help="A name by which clients may ask; may be repeated"),
    ] = None,
    log_json: Annotated[
        bool, typer.Option("--log-json", help="Log one JSON object per line")
    ] = False,
) -> None:
    """Serve the console and the HTTP API, and run jobs, until SIGTERM or Ctrl-C.

    Without a token only this machine is served, and only an address of its own is listened on. A
    token on a command line can be seen by others on the machine: FAIRLANE_TOKEN cannot. Names in
    FAIRLANE_ALLOWED_HOSTS, with commas between them, are allowed as well.
    """
    logs.configure(json=log_json)
    if not (token or read_token or _is_here(host)):
        fail(
            f"{host} can be reached from other machines, so a token is needed; set FAIRLANE_TOKEN, "
            "or listen on 127.0.0.1"
        )
    try:
        with _listening(host, port) as listener:
            _run(app, listener, host=host, token=token, read_token=read_token, names=allow_host)
    except StoreError as error:
        fail(str(error), code=UNAVAILABLE)
    except FairlaneError as error:
        fail(str(error))


def _run(
    app: Fairlane,
    listener: socket.socket,
    *,
    host: str,
    token: str | None,
    read_token: str | None,
    names: list[str] | None,
) -> None:
    application = app.asgi(token=token, read_token=read_token, hosts=[host, *(names or ())])
    server = _server(application)
    with asyncio.Runner(loop_factory=server.config.get_loop_factory()) as runner:
        runner.run(_serve(app, application, server, listener))


def _server(application: "FastAPI") -> "uvicorn.Server":
    import uvicorn  # a part of the extra, which asgi() has told about if it is missing

    from fairlane.cli.http_protocol import BoundedHttpProtocol

    class Server(uvicorn.Server):
        """A server that leaves signals to us: the engine has to end after it, in peace."""

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
            timeout_graceful_shutdown=_FAREWELL_SECONDS,
            ws_max_size=64 * 1024,  # clients of a stream have little to say
            ws_per_message_deflate=False,  # small messages, at every follower again
        )
    )


async def _serve(
    app: Fairlane, application: "FastAPI", server: "uvicorn.Server", listener: socket.socket
) -> None:
    stopping = Stopping()
    async with stopping.running(app) as engine:
        if engine is not None:
            serving = asyncio.create_task(server.serve(sockets=[listener]))
            asked = asyncio.create_task(stopping.asked.wait())
            typer.echo(f"serving {engine.store.address} on {_url(listener)}")
            await asyncio.wait([serving, asked], return_when=asyncio.FIRST_COMPLETED)
            say(farewell(app))
            server.should_exit = True
            if hasattr(application.state, "stream"):
                application.state.stream.close()  # or it would be waited for
            await serving
            asked.cancel()
    say("stopped")


@contextlib.contextmanager
def _listening(host: str, port: int) -> Iterator[socket.socket]:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        listener = socket.create_server((host, port), family=family, backlog=2048)
    except OSError as error:
        why = error.strerror or str(error)
        fail(f"cannot listen on {host}, port {port}: {why}", code=UNAVAILABLE)
    with listener:
        yield listener


def _url(listener: socket.socket) -> str:
    host, port = listener.getsockname()[:2]
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"


def _is_here(host: str) -> bool:
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"
