"""Download one file, with resumption and verification.

The bytes go to a part file. When a transfer breaks, the next try requests the rest by range, on the
condition that the file is unchanged (`If-Range`). The validator of the server is stored in the
index, so that resumption also works after the process died. A file is complete when its length and
its checksums, where the server states them, are right.
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
    """A downloaded file: the first `kept` bytes are in the part file, `rest` follows."""

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
        self._validator = validator  # of the bytes in the part file
        self._min_bytes = min_bytes
        self._remember = remember
        self._arrived = arrived
        self._buffer = bytearray()
        self._kept = 0  # valid bytes at the beginning of the part file
        self._received = 0
        self._overlap = 0  # bytes requested again, because a complete file has no rest

    async def run(self) -> CompleteFile:
        """Return the complete file, or raise its FileError."""
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
                        await self._flush()  # the next try continues after it
                    if self._kept >= furthest + FLUSH_BYTES:
                        number, furthest = 0, self._kept  # progress resets the number of tries
                if number >= self._settings.tries:
                    raise
                pause = self._settings.first_wait_seconds * 2 ** max(0, number - 1)
                # A pause that the server requests is waited by the pace, before the next request.
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
        """Refuse a file by its announced size, before bytes are received."""
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
        """Return the free disk space above the reserve; without any, every file has to wait."""
        free = shutil.disk_usage(self._settings.folder).free - self._settings.spare_bytes
        if free < 0:
            raise Retryable("less is free on the disk than is to stay free", code="disk_full")
        return free

    # the part file

    async def _on_disk(self, act: Callable[..., T], *args: Any) -> T:
        """Run an operation on the part file; report its errors as errors of the disk."""
        try:
            return await in_thread(act, *args)
        except OSError as error:
            raise TransientError(f"it cannot be written: {error}") from error

    async def _flush(self) -> None:
        """Append the received bytes to the part file."""
        piece = bytes(self._buffer)
        self._buffer.clear()
        await self._on_disk(self._append, piece)

    def _append(self, piece: bytes) -> None:
        if len(piece) > self._free_bytes():
            raise TransientError("there is no room on the disk")
        self._kept = write_at(self._part, self._kept, piece)

    def _resumable(self) -> int:
        """Return the number of bytes on disk, if their version is known."""
        if self._validator is None:
            return 0
        try:
            return max(0, self._part.stat().st_size - self._overlap)
        except FileNotFoundError:
            return 0

    async def _begin_anew(self, validator: str | None, total: int | None) -> None:
        """Discard earlier bytes, and store the validator of the version that follows."""
        self._kept = 0
        worth = total is None or total >= WORTH_RESUMING_BYTES
        before, self._validator = self._validator, validator if worth else None
        if self._validator != before:
            await self._on_disk(self._renew)

    def _renew(self) -> None:
        """Delete the bytes of another version before the new validator is stored.

        In the other order, a crash in between would append one version to another.
        """
        self._part.unlink(missing_ok=True)
        self._remember(self._validator)

    def _feed(self, hashes: Mapping[str, tuple[Any, bytes]]) -> None:
        """Update the hashes with the bytes on disk."""
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
    """Write after the first `offset` bytes of a part file, and return the new length."""
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
    """Return a hash for each stated checksum, and SHA-256 in any case."""
    return {
        name: (_HASHES[name](usedforsecurity=False), stated.get(name, b""))
        for name in {"sha-256", *stated}
    }


def _extent(answer: httpx.Response, offset: int) -> tuple[int, int | None]:
    """Return the offset of a response in the file, and the length of the file."""
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
    """Return whether a response is compressed without a request for it; it is saved
    decompressed."""
    return headers.get("Content-Encoding", "").strip().lower() not in ("", "identity")


def _validator_of(answer: httpx.Response) -> str | None:
    """Return the validator of this version of the file; a weak tag is none."""
    if _is_encoded(answer.headers):
        return None
    tag = answer.headers.get("ETag", "")
    known: str | None = tag if tag.startswith('"') else answer.headers.get("Last-Modified")
    return known


def _checksums(headers: httpx.Headers, *, whole: bool) -> dict[str, bytes]:
    """Return the checksums of the whole file; those of the body only if it is the whole file."""
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
            continue  # ignore an unreadable checksum
    return found
