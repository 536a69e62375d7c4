"""Safe file names from untrusted texts.

A server chooses the names of its files, and may choose `../../.bashrc`, an empty name, a NUL or a
very long text. Every input becomes a readable name that stays in its folder on all common file
systems and keeps its extension.
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
_OURS: Final = (".part", ".json")  # suffixes that the archiver adds to file names


def safe_name(text: str, *, otherwise: str = "file") -> str:
    """Return a name for a file or folder; the same text always gives the same name."""
    clean = unicodedata.normalize("NFC", text.encode("utf-8", "replace").decode())
    # Control and invisible characters could disguise a name as another one.
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
    """Return the file name in a URL: the last part of its path, which may be empty."""
    try:
        path = urlsplit(url).path
    except ValueError:
        return ""
    return unquote(path.rsplit("/", 1)[-1], errors="replace")


def numbered(name: str, key: str) -> Iterator[str]:
    """Yield the name, then name-1.ext up to name-9.ext, then names with a digest of the key.

    Without the digests, a server that gives all files one name would make each file try all
    numbers.
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
    """Shorten a long name with a digest, so that two long names stay different."""
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
