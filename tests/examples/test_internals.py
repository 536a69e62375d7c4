"""Each function that a page about the internals names as `file.py:Class.function` exists."""

import ast
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
SOURCE = ROOT / "src" / "fairlane"
PAGES = [*sorted((ROOT / "docs" / "internals").glob("*.md")), *sorted(SOURCE.rglob("README.md"))]
REFERENCE = re.compile(r"`([\w/]+\.py):([\w.]+)`")
LINK = re.compile(r"\]\(([^)#:]+\.(?:py|md))(?:#[^)]*)?\)")


def names_in(file: Path) -> set[str]:
    """Return the classes, functions and methods of a file by their qualified names."""
    names: set[str] = set()

    def collect(body: list[ast.stmt], prefix: str) -> None:
        for node in body:
            if isinstance(node, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
                names.add(prefix + node.name)
            if isinstance(node, ast.ClassDef):
                collect(node.body, f"{prefix}{node.name}.")

    collect(ast.parse(file.read_text(encoding="utf-8")).body, "")
    return names


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_each_function_that_a_page_names_exists(page: Path) -> None:
    references = REFERENCE.findall(page.read_text(encoding="utf-8"))
    wrong = [
        f"{file}:{name}"
        for file, name in references
        if not (SOURCE / file).exists() or name not in names_in(SOURCE / file)
    ]
    assert wrong == []


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_each_link_of_a_page_leads_to_a_file(page: Path) -> None:
    links = LINK.findall(page.read_text(encoding="utf-8"))
    assert [link for link in links if not (page.parent / link).exists()] == []


def test_the_life_of_a_job_names_the_whole_way() -> None:
    text = (ROOT / "docs" / "internals" / "life-of-a-job.md").read_text(encoding="utf-8")
    assert len(REFERENCE.findall(text)) >= 30
