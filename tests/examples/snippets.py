"""The code blocks of a document, and the action for each.

Every fenced block of Python or shell is run, in the order of the document, in one folder. A comment
on the line above a fence changes the action:

    <!-- snippet: continue -->         continues the program above it
    <!-- snippet: file app.py -->      is written to that file, for the blocks below to use
    <!-- snippet: output -->           is the expected output of the block above; … matches any text
    <!-- snippet: skip because … -->   is not run, with the reason

Blocks in other languages are ignored unless they are `file` or `output`. A directive that is
misspelt, stands above no fence, or is invalid in its place is an error, because a reader would not
notice it.
"""

import re
import textwrap
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import Final, Literal

PYTHON: Final = frozenset({"python"})
SHELL: Final = frozenset({"sh", "console"})
MISTAKEN: Final = {"py": "python", "python3": "python", "pycon": "python", "bash": "sh",
                   "shell": "sh", "zsh": "sh"}  # fmt: skip

FENCE: Final = re.compile(r"^(?P<indent> *)(?P<ticks>`{3,}|~{3,})\s*(?P<language>[^\s`]*)")
DIRECTIVE: Final = re.compile(r"^\s*<!--\s*snippet:\s*(?P<words>.*?)\s*-->\s*$")

Action = Literal["run", "continue", "file", "output", "skip", "ignore"]


class BadDocument(Exception):
    """A document has an invalid directive for a snippet."""

    def __init__(self, document: str, line: int, problem: str) -> None:
        super().__init__(f"{document}:{line}: {problem}")


@dataclass(frozen=True, kw_only=True)
class Snippet:
    """One fenced block. `line` is that of its first line of text."""

    document: str
    line: int
    language: str
    text: str
    action: Action
    detail: str = ""  # the file's name, or the reason to skip

    @property
    def place(self) -> str:
        return f"{self.document}:{self.line}"


def snippets_of(text: str, *, document: str) -> list[Snippet]:
    """Return the blocks that are to be run, written, compared or skipped, in order."""
    found: list[Snippet] = []
    lines = text.splitlines()
    directive: tuple[int, str] | None = None
    number = 0
    while number < len(lines):
        fence = FENCE.match(lines[number])
        if fence is not None:
            end = _closing(lines, number, fence["ticks"])
            if end is None:
                raise BadDocument(document, number + 1, "this block is never closed")
            snippet = Snippet(
                document=document,
                line=number + 2,
                language=fence["language"].lower(),
                text=textwrap.dedent("\n".join(lines[number + 1 : end]) + "\n"),
                action="run",
            )
            found.append(_directed(snippet, directive[1] if directive else None))
            directive = None
            number = end + 1
            continue
        if directive is not None:
            raise BadDocument(document, directive[0], "no code block follows on the next line")
        comment = DIRECTIVE.match(lines[number])
        if comment is not None:
            directive = (number + 1, comment["words"])
        elif "snippet:" in lines[number] and "<!--" in lines[number]:
            raise BadDocument(document, number + 1, "a directive needs a line of its own")
        number += 1
    if directive is not None:
        raise BadDocument(document, directive[0], "no code block follows on the next line")
    snippets = [snippet for snippet in found if snippet.action != "ignore"]
    _check_order(snippets)
    return snippets


def _closing(lines: list[str], opening: int, ticks: str) -> int | None:
    for number in range(opening + 1, len(lines)):
        line = lines[number].strip()
        if line.startswith(ticks) and not line.strip(ticks[0]):
            return number
    return None


def _directed(snippet: Snippet, words: str | None) -> Snippet:
    """Return the action of a block under this directive, or without one."""
    runnable = snippet.language in PYTHON | SHELL
    if words is None:
        if snippet.language in MISTAKEN:
            wanted = MISTAKEN[snippet.language]
            raise _bad(snippet, f'call the language "{wanted}", not "{snippet.language}"')
        return _as(snippet, "run" if runnable else "ignore")
    verb, _, rest = words.partition(" ")
    if verb == "skip":
        because, _, reason = rest.partition(" ")
        if because != "because" or not reason.strip():
            raise _bad(snippet, 'a skip needs a reason: "skip because it needs a camera"')
        return _as(snippet, "skip", reason.strip())
    if verb == "file":
        path = PurePosixPath(rest)
        if not rest or path.is_absolute() or ".." in path.parts or " " in rest:
            raise _bad(snippet, f'"file" needs a plain relative path; got "{rest}"')
        return _as(snippet, "file", rest)
    if rest or verb not in ("continue", "output"):
        raise _bad(
            snippet,
            f'"{words}" is no directive; known: continue, file NAME, output, skip because REASON',
        )
    if verb == "continue":
        if snippet.language not in PYTHON:
            raise _bad(snippet, "only a Python block can continue another")
        return _as(snippet, "continue")
    if runnable:
        raise _bad(snippet, 'output is a block of "text", not of code')
    return _as(snippet, "output")


def _check_order(snippets: list[Snippet]) -> None:
    """Refuse directives that refer to a block which is not there."""
    before: Snippet | None = None  # the block, other than a file, just above
    for index, snippet in enumerate(snippets):
        if snippet.action == "output" and (
            before is None or before.action not in ("run", "continue")
        ):
            raise _bad(snippet, "no program stands above this output")
        if snippet.action == "output" and before and before.language == "console":
            raise _bad(snippet, "a console block already shows its output")
        if snippet.action == "continue" and not _has_program_above(snippets[:index]):
            raise _bad(snippet, "no Python program stands above this continuation")
        if snippet.action == "file" and not _is_used(snippet, snippets[index + 1 :]):
            raise _bad(snippet, f'no block below uses "{snippet.detail}": it would never be tried')
        if snippet.action != "file":
            before = snippet


def _has_program_above(above: list[Snippet]) -> bool:
    for snippet in reversed(above):
        if snippet.action in ("run", "continue", "skip"):
            return snippet.language in PYTHON and snippet.action != "skip"
    return False


def _is_used(file: Snippet, below: list[Snippet]) -> bool:
    stem = PurePosixPath(file.detail).stem
    return any(
        re.search(rf"\b{re.escape(stem)}\b", snippet.text)
        for snippet in below
        if snippet.action in ("run", "continue", "file")
    )


def _as(snippet: Snippet, action: Action, detail: str = "") -> Snippet:
    return Snippet(
        document=snippet.document,
        line=snippet.line,
        language=snippet.language,
        text=snippet.text,
        action=action,
        detail=detail,
    )


def _bad(snippet: Snippet, problem: str) -> BadDocument:
    return BadDocument(snippet.document, snippet.line - 1, problem)
