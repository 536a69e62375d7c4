"""An HTTP connection of the server, with limits that uvicorn does not have.

The head of a request is read before its token can be checked, so its size and duration are limited.
"""

import asyncio
from typing import Any, Final

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

LARGEST_HEAD: Final = 64 * 1024
PATIENCE_SECONDS: Final = 20.0


class BoundedHttpProtocol(HttpToolsProtocol):
    def __init__(self, *args: Any, **named: Any) -> None:
        super().__init__(*args, **named)
        self._head_bytes: int | None = 0  # None: the head is complete
        self._patience: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self._patience = self.loop.call_later(PATIENCE_SECONDS, transport.close)

    def connection_lost(self, exc: Exception | None) -> None:
        self._head_is_here()
        super().connection_lost(exc)

    def on_message_begin(self) -> None:
        super().on_message_begin()
        self._head_is_here()
        self._head_bytes = 0
        self._patience = self.loop.call_later(PATIENCE_SECONDS, self.transport.close)

    def on_headers_complete(self) -> None:
        self._head_is_here()
        super().on_headers_complete()

    def _head_is_here(self) -> None:
        self._head_bytes = None
        if self._patience is not None:
            self._patience.cancel()

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        if self._head_bytes is not None and not self.transport.is_closing():
            self._head_bytes += len(data)
            if self._head_bytes > LARGEST_HEAD:
                self.transport.write(
                    b"HTTP/1.1 431 Request Header Fields Too Large\r\n"
                    b"connection: close\r\ncontent-length: 0\r\n\r\n"
                )
                self.transport.close()
