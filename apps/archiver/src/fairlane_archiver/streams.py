"""Connections for httpcore on asyncio's own streams.

httpcore brings a backend, which asks the system a dozen things for every request that asyncio knows
already, such as whether an idle connection is still open. With many small files that was a third of
all work.
"""

import asyncio
import ssl
from collections.abc import Awaitable, Callable
from typing import Any, TypeVar

import httpcore

T = TypeVar("T")


class Stream(httpcore.AsyncNetworkStream):
    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader = reader
        self._writer = writer

    @classmethod
    async def connect(cls, address: str, port: int, seconds: float | None) -> "Stream":
        errors = httpcore.ConnectTimeout, httpcore.ConnectError
        opening = _within(lambda: asyncio.open_connection(address, port), seconds, *errors)
        return cls(*await opening)

    async def read(self, max_bytes: int, timeout: float | None = None) -> bytes:
        errors = httpcore.ReadTimeout, httpcore.ReadError
        return await _within(lambda: self._reader.read(max_bytes), timeout, *errors)

    async def write(self, buffer: bytes, timeout: float | None = None) -> None:
        if buffer:
            self._writer.write(buffer)
            await _within(self._writer.drain, timeout, httpcore.WriteTimeout, httpcore.WriteError)

    async def aclose(self) -> None:
        self._writer.close()

    async def start_tls(
        self,
        ssl_context: ssl.SSLContext,
        server_hostname: str | None = None,
        timeout: float | None = None,
    ) -> httpcore.AsyncNetworkStream:
        errors = httpcore.ConnectTimeout, httpcore.ConnectError

        def start() -> Awaitable[None]:
            return self._writer.start_tls(ssl_context, server_hostname=server_hostname)

        try:
            await _within(start, timeout, *errors)
        except BaseException:
            self._writer.transport.abort()
            raise
        return self

    def get_extra_info(self, info: str) -> Any:
        if info == "is_readable":  # of an idle connection: the other side has closed it
            broken = self._reader.exception() is not None
            return broken or self._reader.at_eof() or self._writer.is_closing()
        return self._writer.get_extra_info({"ssl_object": "ssl_object", "socket": "socket",
                                            "client_addr": "sockname",
                                            "server_addr": "peername"}.get(info, info))  # fmt: skip


async def _within(
    act: Callable[[], Awaitable[T]],
    seconds: float | None,
    late: type[Exception],
    broken: type[Exception],
) -> T:
    try:
        async with asyncio.timeout(seconds):
            return await act()
    except TimeoutError as error:
        raise late(f"nothing within {seconds:g} s") from error
    except (OSError, ssl.SSLError, EOFError) as error:
        raise broken(str(error) or type(error).__name__) from error
