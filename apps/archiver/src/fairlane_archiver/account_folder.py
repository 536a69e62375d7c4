"""The folder of one account: complete files are placed in it and removed from it."""

import hashlib
import os
from collections.abc import Iterator, Sequence
from pathlib import Path

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from fairlane_archiver.downloads import CompleteFile, write_at
from fairlane_archiver.errors import FileError, PermanentError, TransientError
from fairlane_archiver.file_names import folder_name
from fairlane_archiver.index import Index, Item
from fairlane_archiver.posts import Media, Post


class Note(Struct, frozen=True, kw_only=True):
    """The JSON note next to a file, from which a lost index can be rebuilt."""

    account: str
    post: Post
    media: Media
    bytes: int
    sha256: str
    content_type: str


class AccountFolder:
    """The folder of one account; every method blocks while the disk works."""

    def __init__(self, folder: Path, account: str, index: Index) -> None:
        self.folder = folder / folder_name(account)
        self._index = index
        self.account = account

    def open(self) -> None:
        self.folder.mkdir(parents=True, exist_ok=True)

    def part(self, item: Item) -> Path:
        return self.folder / f"{item.name}.part"

    def has(self, name: str) -> bool:
        return (self.folder / name).exists()

    def put(self, arrived: Sequence[tuple[Item, CompleteFile]]) -> list[FileError | None]:
        """Give files their final names durably, then record them in the index in one transaction.

        Return the error of each file, or None.
        """
        outcomes: list[FileError | None] = []
        saved: list[tuple[Item, CompleteFile]] = []
        for item, whole in arrived:
            try:
                self._put(item, whole)
                saved.append((item, whole))
                outcomes.append(None)
            except FileError as trouble:
                outcomes.append(trouble)
            except OSError as error:
                outcomes.append(TransientError(f"it cannot be written: {error}"))
        self._sync()
        self._index.saved([(item, whole.bytes, whole.sha256) for item, whole in saved])
        return outcomes

    def _put(self, item: Item, whole: CompleteFile) -> None:
        part, final = self.part(item), self.folder / item.name
        write_at(part, whole.kept, whole.rest, durable=True)
        if os.path.lexists(final):
            raise PermanentError(f"somebody has put a file of the name {item.name} there meanwhile")
        self._describe(final, item, whole)
        part.rename(final)  # atomic, so that a crash never leaves both

    def _describe(self, final: Path, item: Item, whole: CompleteFile) -> None:
        """Write the origin of a file next to it."""
        note = Note(
            account=item.account,
            post=replace(item.post, media=(), after=None),
            media=replace(item.media, headers={}),
            bytes=whole.bytes,
            sha256=whole.sha256,
            content_type=whole.content_type,
        )
        text = msgspec.json.format(msgspec.json.encode(note), indent=2)
        write_at(final.with_name(f"{final.name}.json"), 0, text)

    def adopt(self) -> list[tuple[Item, int]]:
        """Record files that were placed just before a crash, and return them with their sizes.

        If the index has no item of the account, it was lost or the account is new: it is rebuilt
        from the notes.
        """
        if not self._index.knows(self.account):
            self._index.restore(self.account, self._noted())
        adopted: list[tuple[Item, int]] = []
        for item in self._index.parts(self.account):
            final = self.folder / item.name
            if not self.part(item).exists() and final.is_file():
                with final.open("rb") as file:
                    digest = hashlib.file_digest(file, "sha256").hexdigest()
                size = final.stat().st_size
                self._index.saved([(item, size, digest)])
                adopted.append((item, size))
        return adopted

    def _noted(self) -> Iterator[tuple[str, Post, int, str]]:
        """Yield the files whose notes are valid."""
        for path in self.folder.glob("*.json"):
            final = path.with_suffix("")
            try:
                note = msgspec.json.decode(path.read_bytes(), type=Note)
                is_true = note.account == self.account and final.stat().st_size == note.bytes
            except (OSError, msgspec.DecodeError, UnicodeDecodeError):
                continue  # not a note of the archiver
            if is_true:
                yield final.name, replace(note.post, media=(note.media,)), note.bytes, note.sha256

    def drop_part(self, item: Item) -> None:
        self.part(item).unlink(missing_ok=True)

    def drop_parts(self) -> None:
        """Delete all part files; a continue fetches them from the start.

        The cursor may be past them already, so that only the index still knows them.
        """
        begun = self._index.parts(self.account)
        for item in begun:
            self.drop_part(item)
        self._index.put_back(begun)

    def undo(self, run: str) -> int:
        """Delete the files that a run has saved, and return their number."""
        made = [item for item in self._index.made_by(run) if item.account == self.account]
        for item in made:
            self.drop_part(item)
            if item.state == "saved":
                (self.folder / item.name).unlink(missing_ok=True)
                (self.folder / f"{item.name}.json").unlink(missing_ok=True)
        if made:
            self._sync()
        self._index.put_back(item for item in made if item.state in ("part", "saved"))
        return sum(item.state == "saved" for item in made)

    def _sync(self) -> None:
        """Sync the folder, so that its names survive a power failure."""
        opened = os.open(self.folder, os.O_RDONLY | os.O_DIRECTORY)
        try:
            os.fsync(opened)
        finally:
            os.close(opened)
