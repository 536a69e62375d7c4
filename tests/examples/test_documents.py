"""Every snippet in the documents is executed, so that none becomes outdated."""

from pathlib import Path

import pytest

from tests.examples.session import run_document
from tests.examples.snippets import Snippet, snippets_of

ROOT = Path(__file__).resolve().parents[2]
NAMED = ["README.md", "ARCHITECTURE.md", "CONTRIBUTING.md", "CHANGELOG.md"]
DOCUMENTS = [
    path.relative_to(ROOT).as_posix()
    for path in [*(ROOT / name for name in NAMED), *sorted((ROOT / "docs").rglob("*.md"))]
    if path.exists()
]

ON_POSTGRES = ["docs/many-processes.md"]


def read(document: str) -> list[Snippet]:
    return snippets_of((ROOT / document).read_text(encoding="utf-8"), document=document)


def skipped() -> list[Snippet]:
    """Return the skipped snippets; a document that cannot be read fails in its own test."""
    found: list[Snippet] = []
    for document in DOCUMENTS:
        try:
            found += [snippet for snippet in read(document) if snippet.action == "skip"]
        except Exception:  # noqa: BLE001, S112  # collection must go on; the test below raises it
            continue
    return found


@pytest.mark.timeout(300)
@pytest.mark.parametrize("document", DOCUMENTS)
def test_the_snippets_of_a_document_run_with_the_promised_output(
    document: str,
    tmp_path: Path,
    request: pytest.FixtureRequest,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    if document in ON_POSTGRES:
        monkeypatch.setenv("FAIRLANE_DATABASE", request.getfixturevalue("postgres_dsn"))
    snippets = read(document)
    wanted = sum(snippet.action in ("run", "continue") for snippet in snippets)
    assert run_document(snippets, tmp_path) == wanted


@pytest.mark.parametrize("snippet", [pytest.param(s, id=s.place) for s in skipped()])
def test_a_snippet_that_is_not_run_has_a_reason(snippet: Snippet) -> None:
    pytest.skip(f"{snippet.place} is not run because {snippet.detail}")
