"""Prose names its subject: indefinite pronouns are counted, and Markdown is wrapped.

A sentence about "what was told" or "whoever leads next" leaves out the noun that a reader searches
for. The test counts such pronouns in docstrings, comments and documents. Code in backticks and in
fences does not count.

A package may hold 5 pronouns per 1,000 words, and so may each file; a short file may hold one.
"""

import ast
import io
import math
import re
import tokenize
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Final

import pytest

ROOT: Final = Path(__file__).parents[2]
PACKAGE: Final = ROOT / "src" / "fairlane"

PRONOUNS: Final = frozenset({
    "what", "whatever", "who", "whoever", "whom", "whomever", "whose", "nobody", "somebody",
    "anybody", "everybody", "someone", "anyone", "everyone", "something", "anything",
    "everything", "nothing", "others",
})  # fmt: skip
PER_THOUSAND: Final = 5
WIDTH: Final = 100


def documents() -> list[Path]:
    top = [ROOT / name for name in ("README.md", "ARCHITECTURE.md", "CONTRIBUTING.md")]
    return [*top, *sorted((ROOT / "docs").rglob("*.md")), *sorted(PACKAGE.rglob("*.md"))]


def modules() -> list[Path]:
    return sorted(path for path in PACKAGE.rglob("*.py") if "node_modules" not in path.parts)


def name_of(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


def docstrings(tree: ast.Module) -> Iterator[str]:
    """Yield every string that stands alone as a statement, such as the one after a field."""
    for node in ast.walk(tree):
        match node:
            case ast.Expr(value=ast.Constant(value=str() as text)):
                yield text


def comments(source: str) -> Iterator[str]:
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type == tokenize.COMMENT:
            yield re.sub(r"#\s*(noqa|type:|ruff:|fmt:|mypy:|pragma:).*", "", token.string)


def prose_of_module(source: str) -> str:
    return "\n".join([*docstrings(ast.parse(source)), *comments(source)])


def prose_of_document(text: str) -> str:
    return "\n".join(line for _, line in lines_outside_fences(text))


def lines_outside_fences(text: str) -> Iterator[tuple[int, str]]:
    fence = ""
    for number, line in enumerate(text.splitlines(), start=1):
        mark = re.match(r"\s*(`{3,}|~{3,})", line)
        if fence:
            if mark and mark[1].startswith(fence):
                fence = ""
        elif mark:
            fence = mark[1]
        else:
            yield number, line


def words_in(prose: str) -> list[str]:
    return re.findall(r"[A-Za-z']+", re.sub(r"`[^`]*`", " ", prose))


def pronouns_in(words: Iterable[str]) -> int:
    return sum(word.lower() in PRONOUNS for word in words)


def words_of(path: Path) -> list[str]:
    text = path.read_text(encoding="utf-8")
    return words_in(prose_of_module(text) if path.suffix == ".py" else prose_of_document(text))


def bound_of(words: list[str]) -> int:
    return max(1, math.ceil(len(words) * PER_THOUSAND / 1000))


def package_of(path: Path) -> str:
    """Return the package of a module; the documents count as one package."""
    if PACKAGE not in path.parents:
        return "documents"
    inner = path.relative_to(PACKAGE).parts
    return f"fairlane.{inner[0]}" if len(inner) > 1 else "fairlane"


def test_no_file_holds_more_indefinite_pronouns_than_its_bound() -> None:
    problems = []
    for path in [*modules(), *documents()]:
        words = words_of(path)
        count, bound = pronouns_in(words), bound_of(words)
        if count > bound:
            problems.append(
                f"{name_of(path)}: {count} pronouns in {len(words)} words, at most {bound}"
            )
    assert problems == []


def test_no_package_holds_more_indefinite_pronouns_than_its_bound() -> None:
    """The allowance of short files must not add up."""
    counts: dict[str, list[int]] = {}
    for path in [*modules(), *documents()]:
        words = words_of(path)
        total = counts.setdefault(package_of(path), [0, 0])
        total[0] += pronouns_in(words)
        total[1] += len(words)
    rates = {name: 1000 * found / max(1, size) for name, (found, size) in counts.items()}
    assert {name: rate for name, rate in rates.items() if rate > PER_THOUSAND} == {}


def test_prose_in_documents_is_wrapped() -> None:
    too_long = [
        f"{name_of(path)}:{number}: {len(line)} columns"
        for path in documents()
        for number, line in lines_outside_fences(path.read_text(encoding="utf-8"))
        if len(line) > WIDTH and not may_be_long(line)
    ]
    assert too_long == []


def test_links_between_documents_name_files_that_exist() -> None:
    broken = [
        f"{name_of(path)}:{number}: {target}"
        for path in documents()
        for number, line in lines_outside_fences(path.read_text(encoding="utf-8"))
        for target in re.findall(r"\]\(([^)#\s]+)(?:#[^)]*)?\)", line)
        if "://" not in target and not (path.parent / target).exists()
    ]
    assert broken == []


def may_be_long(line: str) -> bool:
    """Return whether a line is a table, an image, HTML, or one link that cannot be broken."""
    text = line.strip()
    return text.startswith(("|", "<", "![")) or " " not in re.sub(
        r"\[[^\]]*\]\([^)]*\)", "link", text
    ).removeprefix("- ")


@pytest.mark.parametrize(
    ("source", "count"),
    [
        ('"""Return what somebody said."""\n', 2),
        ('"""Return the `what` of a job."""\n', 0),
        ("value = 1  # nothing is told\n", 1),
        ("value = 'whoever leads'\n", 0),
        ('class Job:\n    state: str\n    """Whose turn it is."""\n', 1),
        ("import os  # noqa: F401 what\n", 0),
    ],
)
def test_pronouns_are_counted_in_docstrings_and_comments_only(source: str, count: int) -> None:
    assert pronouns_in(words_in(prose_of_module(source))) == count


def test_code_in_documents_does_not_count() -> None:
    text = "The leader.\n\n```text\nwhoever\n```\n\n`what` and who\n"
    assert pronouns_in(words_in(prose_of_document(text))) == 1


def test_a_short_file_may_hold_one() -> None:
    assert [bound_of(["word"] * number) for number in (0, 10, 200, 201, 1001)] == [1, 1, 1, 2, 6]
