"""File names that can be trusted, from texts that cannot.

A server chooses what its files are called, and may choose `../../.bashrc`, nothing, a NUL or a
whole novel. Whatever comes in, a name comes out that stays in its folder on every usual file
system, keeps its extension, and can be read by people.
"""

import hashlib
import re
import unicodedata
from collections.abc import Iterator
from itertools import count
from pathlib import PurePosixPath
from typing import Final
from urllib.parse import unquote, urlsplit

LONGEST_BYTES: Final = 180  # leaves room for a number, `.part` and `.json` in 255

_FORBIDDEN: Final = re.compile(r'[<>:"/\\|?*\s]+')
_RESERVED: Final = re.compile(r"(con|prn|aux|nul|com[0-9¹²³]|lpt[0-9¹²³])(\.|$)", re.IGNORECASE)
_EXTENSION: Final = re.compile(r"\.[A-Za-z0-9]{1,10}$")
_OURS: Final = (".part", ".json")  # what is put behind the name of a file


def safe_name(text: str, *, otherwise: str = "file") -> str:
    """Return a name for a file or folder; the same text always gives the same one."""
    clean = unicodedata.normalize("NFC", text.encode("utf-8", "replace").decode())
    # Control and invisible characters would let a name be shown as another one.
    clean = "".join(c for c in clean if unicodedata.category(c)[0] != "C" or c.isspace())
    clean = _FORBIDDEN.sub("_", clean).strip("._ ").lstrip("-")
    if not clean:
        clean = otherwise
    if _RESERVED.match(clean):
        clean = f"_{clean}"
    if clean.lower().endswith(_OURS):
        clean += "_"
    return _cut(clean)


def folder_name(account: str) -> str:
    """Return the folder of an account; two accounts never share one."""
    plain = account.removeprefix("@")
    if plain != account and safe_name(plain) == plain == plain.casefold():
        return plain
    bare = account.removeprefix("https://").removeprefix("http://")
    return f"{safe_name(bare, otherwise='account')}-{_digest(account)}"


def name_in(url: str) -> str:
    """Return what a URL calls its file: the last part of its path, which may be nothing."""
    try:
        path = urlsplit(url).path
    except ValueError:
        return ""
    return unquote(path.rsplit("/", 1)[-1], errors="replace")


def numbered(name: str, key: str) -> Iterator[str]:
    """Give the name itself, then name-1.ext and so on up to 9, then names made of the key.

    A server that calls everything by one name would else have each of them count through all.
    """
    yield name
    stem, extension = _split(name)
    for number in range(1, 10):
        yield f"{stem}-{number}{extension}"
    for number in count(1):
        yield f"{stem}-{_digest(f'{key} {number}', size=8)}{extension}"


def _split(name: str) -> tuple[str, str]:
    found = _EXTENSION.search(name)
    return (name[: found.start()], found[0]) if found and found.start() else (name, "")


def _cut(name: str) -> str:
    """Shorten a long name; two long names that are cut do not become one."""
    if len(name.encode()) <= LONGEST_BYTES:
        return name
    stem, extension = _split(name)
    ending = f"-{_digest(name)}{extension}"
    room = LONGEST_BYTES - len(ending.encode())
    return stem.encode()[:room].decode(errors="ignore") + ending


def _digest(text: str, *, size: int = 4) -> str:
    return hashlib.blake2b(text.encode("utf-8", "replace"), digest_size=size).hexdigest()


def extension_of(name: str) -> str:
    return PurePosixPath(name).suffix.lower()
