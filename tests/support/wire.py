"""A connection between a browser and a server that a test can cut and restore."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from urllib.parse import urlsplit


class Wire:
    def __init__(self, url: str) -> None:
        self.url = ""
        self._server = urlsplit(url)
        self._is_cut = False
        self._ends: set[asyncio.StreamWriter] = set()

    def cut(self) -> None:
        """Drop every connection, and accept no other."""
        self._is_cut = True
        for end in self._ends:
            end.transport.abort()

    def mend(self) -> None:
        self._is_cut = False

    async def carry(self, here: asyncio.StreamReader, back: asyncio.StreamWriter) -> None:
        if self._is_cut:
            back.transport.abort()
            return
        there, onward = await asyncio.open_connection(self._server.hostname, self._server.port)
        ends = {back, onward}
        self._ends |= ends
        try:
            async with asyncio.TaskGroup() as group:
                group.create_task(_copy(here, onward))
                group.create_task(_copy(there, back))
        finally:
            self._ends -= ends


async def _copy(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    try:
        while data := await reader.read(65536):
            writer.write(data)
            await writer.drain()
    except OSError:
        pass  # it was cut
    finally:
        writer.close()


@asynccontextmanager
async def wire_to(url: str) -> AsyncIterator[Wire]:
    wire = Wire(url)
    listener = await asyncio.start_server(wire.carry, "127.0.0.1", 0)
    wire.url = f"http://127.0.0.1:{listener.sockets[0].getsockname()[1]}"
    try:
        yield wire
    finally:
        wire.cut()
        listener.close()
        await asyncio.sleep(0)
