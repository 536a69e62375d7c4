"""The harness must detect errors in documents: each test gives it a wrong document."""

import textwrap
from pathlib import Path

import pytest

from tests.examples.session import SnippetFailed, run_document
from tests.examples.snippets import BadDocument, Snippet, snippets_of


def document(text: str) -> list[Snippet]:
    return snippets_of(textwrap.dedent(text), document="guide.md")


HELLO = """
    ```python
    print("hello")
    ```
"""


def test_a_program_is_run_and_counted(tmp_path: Path) -> None:
    assert run_document(document(HELLO), tmp_path) == 1


def test_a_program_that_fails_names_the_line_of_the_document(tmp_path: Path) -> None:
    text = """
    # A guide

    ```python
    fine = 1
    raise ValueError("broken")
    ```
    """
    with pytest.raises(SnippetFailed, match=r"guide\.md:5: ended with exit code 1") as failure:
        run_document(document(text), tmp_path)
    assert "line 6, in <module>" in str(failure.value)


def test_output_that_agrees_passes(tmp_path: Path) -> None:
    text = HELLO + "<!-- snippet: output -->\n```text\nhello\n```\n"
    run_document(document(textwrap.dedent(text)), tmp_path)


def test_output_that_differs_fails_and_shows_both(tmp_path: Path) -> None:
    text = textwrap.dedent(HELLO) + "<!-- snippet: output -->\n```text\ngoodbye\n```\n"
    with pytest.raises(SnippetFailed, match=r"(?s)hello.*but the document says.*goodbye"):
        run_document(document(text), tmp_path)


@pytest.mark.parametrize(
    ("expected", "agrees"),
    [
        ("one 1.25 s\ntwo\nthree", True),
        ("one … s\ntwo\nthree", True),
        ("…\nthree", True),
        ("one …\n…", True),
        ("one … s\n…\nthree", True),
        ("one … s\nthree", False),
        ("one …", False),
        ("…\ntwo", False),
        ("one 1x25 s\ntwo\nthree", False),
        ("", False),
    ],
)
def test_an_ellipsis_stands_for_part_of_a_line_or_for_whole_lines(
    expected: str, agrees: bool, tmp_path: Path
) -> None:
    text = (
        '```python\nprint("one 1.25 s\\ntwo  \\nthree")\n```\n'
        f"<!-- snippet: output -->\n```text\n{expected}\n```\n"
    )
    if agrees:
        run_document(document(text), tmp_path)
    else:
        with pytest.raises(SnippetFailed):
            run_document(document(text), tmp_path)


def test_a_continuation_sees_the_program_before_it_and_has_separate_output(tmp_path: Path) -> None:
    text = """
    ```python
    count = 1
    print("first", count)
    ```
    <!-- snippet: output -->
    ```text
    first 1
    ```
    And then:
    <!-- snippet: continue -->
    ```python
    print("second", count + 1)
    ```
    <!-- snippet: output -->
    ```text
    second 2
    ```
    """
    assert run_document(document(text), tmp_path) == 2
    with pytest.raises(SnippetFailed, match="second 2"):
        run_document(document(text.replace("second 2", "second 3")), tmp_path)
    with pytest.raises(SnippetFailed, match="first 1"):
        run_document(document(text.replace("first 1", "first 0")), tmp_path)


def test_a_traceback_from_a_continuation_names_its_own_line(tmp_path: Path) -> None:
    text = """
    ```python
    first = 1
    ```

    <!-- snippet: continue -->
    ```python
    second = first / 0
    ```
    """
    with pytest.raises(SnippetFailed, match="line 8, in <module>"):
        run_document(document(text), tmp_path)


def test_a_program_without_a_directive_does_not_see_the_one_before(tmp_path: Path) -> None:
    text = """
    ```python
    count = 1
    ```
    ```python
    print(count)
    ```
    """
    with pytest.raises(SnippetFailed, match="NameError"):
        run_document(document(text), tmp_path)


def test_a_file_can_be_imported_by_a_later_program_and_used_by_the_shell(tmp_path: Path) -> None:
    text = """
    <!-- snippet: file greeting.py -->
    ```python
    def greet(name: str) -> str:
        return f"hello {name}"
    ```
    ```python
    from greeting import greet
    print(greet("lane"))
    ```
    <!-- snippet: output -->
    ```text
    hello lane
    ```
    ```console
    $ python -c "from greeting import greet; print(greet('shell'))"
    hello shell
    ```
    """
    assert run_document(document(text), tmp_path) == 2


def test_a_file_with_a_syntax_error_fails(tmp_path: Path) -> None:
    text = """
    <!-- snippet: file broken.py -->
    ```python
    def (
    ```
    ```sh
    test -e broken.py
    ```
    """
    with pytest.raises(SyntaxError):
        run_document(document(text), tmp_path)


def test_a_shell_block_stops_at_its_first_failing_command(tmp_path: Path) -> None:
    with pytest.raises(SnippetFailed, match="exit code 1"):
        run_document(document("```sh\nfalse\ntrue\n```\n"), tmp_path)


def test_the_output_of_a_shell_command_is_compared_too(tmp_path: Path) -> None:
    text = "```sh\necho hello\n```\n<!-- snippet: output -->\n```text\n{}\n```\n"
    run_document(document(text.format("hello")), tmp_path)
    with pytest.raises(SnippetFailed, match="but the document says"):
        run_document(document(text.format("goodbye")), tmp_path)


def test_a_console_block_with_another_output_fails(tmp_path: Path) -> None:
    text = "```console\n$ echo one\none\n$ echo two\n{}\n```\n"
    run_document(document(text.format("two")), tmp_path)
    with pytest.raises(SnippetFailed, match="echo two printed"):
        run_document(document(text.format("three")), tmp_path)


def test_a_block_in_a_list_is_run_without_its_indentation(tmp_path: Path) -> None:
    text = "1. First:\n\n   ```python\n   if True:\n       print('hello')\n   ```\n"
    assert run_document(snippets_of(text, document="guide.md"), tmp_path) == 1


def test_blocks_in_other_languages_and_fences_inside_fences_are_left_alone() -> None:
    text = "```json\n{}\n```\n\n````text\n```python\nprint(\n```\n````\n"
    assert document(text) == []


def test_a_skipped_block_is_not_run_and_keeps_its_reason(tmp_path: Path) -> None:
    text = "<!-- snippet: skip because it needs a server -->\n```sh\nfalse\n```\n"
    [snippet] = document(text)
    assert (snippet.action, snippet.detail) == ("skip", "it needs a server")
    assert run_document([snippet], tmp_path) == 0


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("<!-- snippet: skip -->\n```python\n```\n", "a skip needs a reason"),
        ("<!-- snippet: skip because -->\n```python\n```\n", "a skip needs a reason"),
        ("<!-- snippet: contine -->\n```python\n```\n", '"contine" is no directive'),
        ("<!-- snippet: continue -->\n```python\n```\n", "no Python program stands above"),
        ("<!-- snippet: continue -->\n```sh\n```\n", "only a Python block can continue"),
        ("<!-- snippet: output -->\n```text\n```\n", "no program stands above"),
        ("<!-- snippet: output -->\n```python\n```\n", 'output is a block of "text"'),
        ("<!-- snippet: file -->\n```python\n```\n", "needs a plain relative path"),
        ("<!-- snippet: file ../x.py -->\n```python\n```\n", "needs a plain relative path"),
        ("<!-- snippet: file /x.py -->\n```python\n```\n", "needs a plain relative path"),
        ("<!-- snippet: file app.py -->\n```python\n```\n", "it would never be tried"),
        ("<!-- snippet: output -->\n\n```text\n```\n", "no code block follows"),
        ("<!-- snippet: output -->\n", "no code block follows"),
        ("See <!-- snippet: output -->\n```text\n```\n", "needs a line of its own"),
        ("```py\n```\n", 'call the language "python"'),
        ("```bash\n```\n", 'call the language "sh"'),
        ("```python\n", "never closed"),
        (
            "<!-- snippet: skip because of rain -->\n```python\n```\n"
            "<!-- snippet: output -->\n```text\n```\n",
            "no program stands above",
        ),
        (
            "```console\n$ true\n```\n<!-- snippet: output -->\n```text\n```\n",
            "already shows its output",
        ),
    ],
)
def test_a_directive_that_cannot_be_followed_is_an_error(text: str, problem: str) -> None:
    with pytest.raises(BadDocument, match=problem):
        document(text)
