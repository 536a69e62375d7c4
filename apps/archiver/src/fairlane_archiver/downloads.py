"""One file, from its first byte to its last, whatever the server does on the way.

The bytes go to a part file. When a transfer breaks, the next try asks for the rest by range, on the
condition that the file is still the one it was (`If-Range`); what the server says that was is kept
in the index, so that this also holds after the program died. A file is whole when its length and
its checksums, as far as the server told any, are right.
"""

import asyncio
import hashlib
import os
import re
import shutil
from base64 import b64decode
from binascii import Error as BadBase64
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Final, TypeVar

import httpx
from msgspec import Struct

from fairlane import Retryable
from fairlane_archiver.errors import BadRange, NoRest, PermanentError, TransientError, UnwantedFile
from fairlane_archiver.posts import Media
from fairlane_archiver.settings import Settings
from fairlane_archiver.threads import in_thread
from fairlane_archiver.web_client import WebClient

T = TypeVar("T")

FLUSH_BYTES: Final = 256 * 1024
WORTH_RESUMING_BYTES: Final = 64 * 1024

_RANGE: Final = re.compile(r"bytes ([0-9]{1,18})-[0-9]+/([0-9]{1,18}|\*)")
_DIGEST: Final = re.compile(r"(sha-256|sha-512|md5)=:?([A-Za-z0-9+/=]+):?", re.IGNORECASE)
_HASHES: Final = {"sha-256": hashlib.sha256, "sha-512": hashlib.sha512, "md5": hashlib.md5}


class CompleteFile(Struct, frozen=True, kw_only=True):
    """A file that has arrived: the first `kept` bytes lie in the part file, `rest` follows."""

    kept: int
    sha256: str
    rest: bytes
    content_type: str
    bytes: int


class Download:
    def __init__(
        self,
        media: Media,
        part: Path,
        *,
        web: WebClient,
        settings: Settings,
        validator: str | None,
        min_bytes: int,
        remember: Callable[[str | None], None],
        arrived: Callable[[int], None],
    ) -> None:
        self._media = media
        self._part = part
        self._web = web
        self._settings = settings
        self._validator = validator  # of what lies in the part file
        self._min_bytes = min_bytes
        self._remember = remember
        self._arrived = arrived
        self._buffer = bytearray()
        self._kept = 0  # bytes at the beginning of the part file that are good
        self._received = 0
        self._overlap = 0  # bytes that are asked for again, since of a whole file there is no rest

    async def run(self) -> CompleteFile:
        """Return the whole file, or raise Trouble about it."""
        seconds = self._settings.longest_seconds
        try:
            async with asyncio.timeout(seconds):
                return await self._try_until_whole()
        except TimeoutError:
            raise PermanentError(f"it took longer than {seconds:g} s") from None

    async def _try_until_whole(self) -> CompleteFile:
        number, furthest = 1, 0
        while True:
            try:
                return await self._once()
            except TransientError as trouble:
                if isinstance(trouble, NoRest) and not self._overlap:
                    self._overlap = 1
                elif isinstance(trouble, BadRange):
                    self._validator = None
                if self._validator is not None:
                    if self._buffer:
                        await self._flush()  # the next try goes on behind it
                    if self._kept >= furthest + FLUSH_BYTES:
                        number, furthest = 0, self._kept  # what gets on is not given up
                if number >= self._settings.tries:
                    raise
                pause = self._settings.first_wait_seconds * 2 ** max(0, number - 1)
                # What a server asks for is waited out by the pace, before the next question.
                await asyncio.sleep(0.0 if trouble.after_seconds else pause)
            number += 1

    async def _once(self) -> CompleteFile:
        offset = 0 if self._validator is None else await self._on_disk(self._resumable)
        headers = {"Accept-Encoding": "identity", **self._media.headers}
        if offset and self._validator:
            headers |= {"Range": f"bytes={offset}-", "If-Range": self._validator}
        self._buffer.clear()
        async with self._web.open(self._media.url, headers) as answer:
            start, total = _extent(answer, offset)
            if start and _validator_of(answer) not in (None, self._validator):
                raise BadRange("the server sent the rest of another version of the file")
            self._check(total)
            self._received = self._kept = start
            hashes = _hashes(_checksums(answer.headers, whole=start == 0))
            if start:
                await self._on_disk(self._feed, hashes)
            else:
                await self._begin_anew(_validator_of(answer), total)
            await self._receive(answer, hashes)
        if total is not None and self._received != total:
            raise TransientError(f"{self._received} bytes came where {total} were announced")
        if self._received < self._min_bytes:
            raise UnwantedFile(f"it has {self._received} bytes")
        await self._compare(hashes)
        return CompleteFile(
            bytes=self._received,
            kept=self._kept,
            sha256=hashes["sha-256"][0].hexdigest(),
            rest=bytes(self._buffer),
            content_type=answer.headers.get("Content-Type", ""),
        )

    async def _receive(self, answer: httpx.Response, hashes: Mapping[str, Any]) -> None:
        pieces = answer.aiter_bytes() if _is_encoded(answer.headers) else answer.aiter_raw()
        async for piece in pieces:
            self._received += len(piece)
            if self._received > self._settings.largest_bytes:
                raise self._too_large(f"more than {self._settings.largest_bytes} bytes came")
            for known, _ in hashes.values():
                known.update(piece)
            self._buffer += piece
            self._arrived(len(piece))
            if len(self._buffer) >= FLUSH_BYTES:
                await self._flush()

    def _check(self, total: int | None) -> None:
        """Refuse by what the server announces, before anything is received."""
        free = self._free_bytes()
        if total is None:
            return
        if total < self._min_bytes:
            raise UnwantedFile(f"it has {total} bytes")
        if total > self._settings.largest_bytes:
            raise self._too_large(f"it has {total} bytes")
        if total > FLUSH_BYTES and total > free:
            raise TransientError(f"it has {total} bytes, for which there is no room on the disk")

    def _too_large(self, said: str) -> PermanentError:
        return PermanentError(
            f"{said}, and {self._settings.largest_bytes} are allowed (LARGEST_BYTES)"
        )

    def _free_bytes(self) -> int:
        """Return how much there is room for; where there is none, every file has to wait."""
        free = shutil.disk_usage(self._settings.folder).free - self._settings.spare_bytes
        if free < 0:
            raise Retryable("less is free on the disk than is to stay free", code="disk_full")
        return free

    # the part file

    async def _on_disk(self, act: Callable[..., T], *args: Any) -> T:
        """Do something with the part file; what goes wrong there is not the server's doing."""
        try:
            return await in_thread(act, *args)
        except OSError as error:
            raise TransientError(f"it cannot be written: {error}") from error

    async def _flush(self) -> None:
        """Put what has come into the part file."""
        piece = bytes(self._buffer)
        self._buffer.clear()
        await self._on_disk(self._append, piece)

    def _append(self, piece: bytes) -> None:
        if len(piece) > self._free_bytes():
            raise TransientError("there is no room on the disk")
        self._kept = write_at(self._part, self._kept, piece)

    def _resumable(self) -> int:
        """Return how much is there already, as long as it is known what it is a part of."""
        if self._validator is None:
            return 0
        try:
            return max(0, self._part.stat().st_size - self._overlap)
        except FileNotFoundError:
            return 0

    async def _begin_anew(self, validator: str | None, total: int | None) -> None:
        """Forget what there was, and keep which version of the file is coming now."""
        self._kept = 0
        worth = total is None or total >= WORTH_RESUMING_BYTES
        before, self._validator = self._validator, validator if worth else None
        if self._validator != before:
            await self._on_disk(self._renew)

    def _renew(self) -> None:
        """Let go of another version's bytes before the name of this one is kept.

        The other way round, who dies in between would put the rest of one behind the other.
        """
        self._part.unlink(missing_ok=True)
        self._remember(self._validator)

    def _feed(self, hashes: Mapping[str, tuple[Any, bytes]]) -> None:
        """Show the hashes what is there already."""
        left = self._kept
        with self._part.open("rb") as file:
            while left and (piece := file.read(min(left, 1024 * 1024))):
                left -= len(piece)
                for known, _ in hashes.values():
                    known.update(piece)

    async def _compare(self, hashes: Mapping[str, tuple[Any, bytes]]) -> None:
        for name, (known, stated) in hashes.items():
            if stated and known.digest() != stated:
                self._buffer.clear()
                await self._begin_anew(None, None)
                raise TransientError(f"its {name} is not the one that the server states")


def write_at(part: Path, offset: int, piece: bytes, *, durable: bool = False) -> int:
    """Write behind the good bytes of a part file, whatever else it has, and return their number."""
    flags = os.O_WRONLY | os.O_CREAT | (0 if offset else os.O_TRUNC)
    opened = os.open(part, flags, 0o666)
    try:
        if offset:
            os.ftruncate(opened, offset)
        written = 0
        while written < len(piece):
            written += os.pwrite(opened, piece[written:], offset + written)
        if durable:
            os.fsync(opened)
    finally:
        os.close(opened)
    return offset + written


def _hashes(stated: Mapping[str, bytes]) -> dict[str, tuple[Any, bytes]]:
    """Return a hash for each checksum that can be compared, and our own."""
    return {
        name: (_HASHES[name](usedforsecurity=False), stated.get(name, b""))
        for name in {"sha-256", *stated}
    }


def _extent(answer: httpx.Response, offset: int) -> tuple[int, int | None]:
    """Return where the bytes of an answer begin in the file, and how long the file is."""
    if answer.status_code == 206:
        found = _RANGE.fullmatch(answer.headers.get("Content-Range", ""))
        if found is None or int(found[1]) != offset:
            raise BadRange("the server sent another part of the file than it was asked for")
        return offset, None if found[2] == "*" else int(found[2])
    if answer.status_code != 200:
        raise PermanentError(f"the server answered {answer.status_code} without a file")
    stated = answer.headers.get("Content-Length", "")
    known = stated.isascii() and stated.isdigit() and not _is_encoded(answer.headers)
    return 0, int(stated) if known else None


def _is_encoded(headers: httpx.Headers) -> bool:
    """Tell an answer that is compressed though nobody asked for it: it is saved as it was meant."""
    return headers.get("Content-Encoding", "").strip().lower() not in ("", "identity")


def _validator_of(answer: httpx.Response) -> str | None:
    """Return what tells this version of the file from others; a weak tag does not."""
    if _is_encoded(answer.headers):
        return None
    tag = answer.headers.get("ETag", "")
    known: str | None = tag if tag.startswith('"') else answer.headers.get("Last-Modified")
    return known


def _checksums(headers: httpx.Headers, *, whole: bool) -> dict[str, bytes]:
    """Read what a server says about the file as such; about a body only where it is the file."""
    if _is_encoded(headers):
        return {}
    texts = [headers.get("Repr-Digest", ""), headers.get("Digest", "")]
    if whole:
        texts += [headers.get("Content-Digest", "")]
        if "Content-MD5" in headers:
            texts.append(f"md5={headers['Content-MD5']}")
    found = {}
    for name, value in _DIGEST.findall(", ".join(texts)):
        try:
            found[name.lower()] = b64decode(value, validate=True)
        except BadBase64:
            continue  # a checksum that cannot be read says nothing
    return found
