"""The size of the first download of the console."""

import gzip
import re
from pathlib import Path
from typing import Final

from fairlane.api.console import FOLDER

MOST_BYTES: Final = 150 * 1000


def first_load(folder: Path) -> set[Path]:
    """Return the page, and all that it and its scripts name without being asked."""
    found = {folder / "index.html"}
    todo = list(found)
    while todo:
        path = todo.pop()
        for name in named(path.read_text()):
            other = folder / "assets" / name
            if other.exists() and other not in found:
                found.add(other)
                todo.append(other)
    return found


def named(text: str) -> list[str]:
    """Return the files that a page or a script needs at once; `import(…)` is for later."""
    of_pages = re.findall(r"""(?:src|href)="\./(?:assets/)?([^"]+)\"""", text)
    of_scripts = re.findall(r"""(?:from|import)\s*["']\./([^"']+)["']""", text)
    return of_pages + of_scripts


def test_the_first_load_is_small() -> None:
    assert (FOLDER / "index.html").exists(), "the console is not built: make setup"
    sizes = {
        path.name: len(gzip.compress(path.read_bytes(), 9)) for path in sorted(first_load(FOLDER))
    }
    assert len(sizes) > 1, "the page names no script"
    assert sum(sizes.values()) < MOST_BYTES, sizes
