"""Processes can stop while the database neither answers nor closes its connections."""

import asyncio
import contextlib
from asyncio import StreamReader, StreamWriter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from fairlane import Fairlane
from tests.support.apps import Doors
from tests.support.postgres import running_postgres


class Relay:
    """A proxy between the apps and the server that can stop forwarding data."""

    def __init__(self, port: int) -> None:
        self._port = port
        self._connections: set[asyncio.Task[None]] = set()
        self.flowing = asyncio.Event()
        self.flowing.set()

    @asynccontextmanager
    async def running(self) -> AsyncIterator[int]:
        server = await asyncio.start_server(self._serve, "127.0.0.1")
        try:
            yield server.sockets[0].getsockname()[1]
        finally:
            server.close()
            for connection in self._connections:
                connection.cancel()
            await asyncio.gather(*self._connections, return_exceptions=True)

    def _serve(self, reader: StreamReader, writer: StreamWriter) -> None:
        self._connections.add(asyncio.create_task(self._relay(reader, writer)))

    async def _relay(self, reader: StreamReader, writer: StreamWriter) -> None:
        there = await asyncio.open_connection("127.0.0.1", self._port)
        try:
            await asyncio.gather(self._pass_on(reader, there[1]), self._pass_on(there[0], writer))
        finally:
            for end in (writer, there[1]):
                end.close()
                with contextlib.suppress(OSError):
                    await end.wait_closed()

    async def _pass_on(self, reader: StreamReader, writer: StreamWriter) -> None:
        with contextlib.suppress(OSError):
            while data := await reader.read(65_536):
                await self.flowing.wait()
                writer.write(data)
        writer.close()


async def test_leader_and_worker_can_stop_while_the_server_does_not_answer() -> None:
    with running_postgres() as server:
        relay = Relay(server.port)
        async with relay.running() as port:
            dsn = server.tcp_dsn().replace(f":{server.port}/", f":{port}/")
            doors = Doors()
            apps = [Fairlane(dsn, slots=1, stop_grace_seconds=0) for _ in range(2)]
            for number, app in enumerate(apps):

                @app.task(name="hold", grace_seconds=0.1)
                async def hold(name: str, number: int = number) -> None:
                    await doors.wait(f"{name} {number}")

                await app.__aenter__()
            for name in ("a", "b"):
                await apps[0].tasks["hold"].submit(name)
            await doors.crowd(2)
            relay.flowing.clear()
            # Far longer than needed, and shorter than the timeout of any single statement.
            async with asyncio.timeout(40):
                await asyncio.gather(*(app.__aexit__(None, None, None) for app in apps))
