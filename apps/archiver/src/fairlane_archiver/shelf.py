"""The folder of one account: files are put in it whole, and taken out of it again."""

import hashlib
import os
from pathlib import Path
from typing import Any

import msgspec

from fairlane_archiver.downloads import Whole
from fairlane_archiver.errors import Lasting
from fairlane_archiver.index import Index, Item
from fairlane_archiver.names import folder_name


class Shelf:
    """Every method blocks for as long as the disk takes."""

    def __init__(self, folder: Path, account: str, index: Index) -> None:
        self.folder = folder / folder_name(account)
        self._index = index
        self.account = account

    def open(self) -> None:
        self.folder.mkdir(parents=True, exist_ok=True)

    def part(self, item: Item) -> Path:
        return self.folder / f"{item.name}.part"

    def put(self, item: Item, whole: Whole) -> None:
        """Give a file that has arrived its name, durably, and only then write that down."""
        part = self.part(item)
        with part.open("ab") as file:
            file.write(whole.rest)
            file.flush()
            os.fsync(file.fileno())
        final = self._claim(part, item)
        self._describe(final, item, whole)
        self._sync()
        self._index.saved(item, bytes=whole.bytes, sha256=whole.sha256)

    def _claim(self, part: Path, item: Item) -> Path:
        """Move to the name that was taken for it, in one step, so that no crash leaves both."""
        final = self.folder / item.name
        if os.path.lexists(final):
            raise Lasting(f"somebody has put a file of the name {item.name} there meanwhile")
        part.rename(final)
        return final

    def _describe(self, final: Path, item: Item, whole: Whole) -> None:
        """Write down beside the file where it is from; the index could write it again."""
        told: dict[str, Any] = {
            "account": item.account,
            "post": msgspec.to_builtins(msgspec.structs.replace(item.post, media=(), after=None)),
            "media": msgspec.to_builtins(msgspec.structs.replace(item.media, headers={})),
            "bytes": whole.bytes,
            "sha256": whole.sha256,
            "content_type": whole.content_type,
        }
        text = msgspec.json.format(msgspec.json.encode(told), indent=2)
        final.with_name(f"{final.name}.json").write_bytes(text)

    def adopt(self, item: Item) -> bool:
        """Write down a file that was put in its place just before the program died."""
        final = self.folder / item.name
        if item.state != "part" or self.part(item).exists() or not final.is_file():
            return False
        with final.open("rb") as file:
            digest = hashlib.file_digest(file, "sha256").hexdigest()
        whole = Whole(bytes=final.stat().st_size, sha256=digest, rest=b"", content_type="")
        self._describe(final, item, whole)
        self._index.saved(item, bytes=whole.bytes, sha256=digest)
        return True

    def drop_part(self, item: Item) -> None:
        self.part(item).unlink(missing_ok=True)

    def drop_parts(self) -> None:
        """Forget everything that was begun and not finished."""
        begun = self._index.parts(self.account)
        for item in begun:
            self.drop_part(item)
        self._index.forget(begun)

    def undo(self, run: str) -> int:
        """Take out what a run has saved, and return how many files that were."""
        made = [item for item in self._index.made_by(run) if item.account == self.account]
        for item in made:
            self.drop_part(item)
            if item.state == "saved":
                (self.folder / item.name).unlink(missing_ok=True)
                (self.folder / f"{item.name}.json").unlink(missing_ok=True)
        if made:
            self._sync()
        self._index.forget(made)
        return sum(item.state == "saved" for item in made)

    def _sync(self) -> None:
        folder = os.open(self.folder, os.O_RDONLY | os.O_DIRECTORY)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)
