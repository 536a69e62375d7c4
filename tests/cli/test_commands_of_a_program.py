"""`app.commands()`: the verbs under the name of a program, on its own database."""

import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.process_control import environment

PROGRAM = '''
from fairlane import Fairlane

app = Fairlane("sqlite:///letters.db")
app.queue("mail", max_concurrent=1)


@app.task(queue="mail")
async def send(to: str) -> str:
    return f"sent to {to}"


commands = app.commands()


@commands.command()
def invite(to: str) -> None:
    """Invite.

    The first line
    goes on here.
    """
    with app:
        print(app.sync.submit(send.call(to)).wait())


if __name__ == "__main__":
    commands(prog_name="letters")
'''


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "letters.py").write_text(PROGRAM)
    return tmp_path


def _letters(folder: Path, *words: str, code: int = 0) -> str:
    told = subprocess.run(
        [sys.executable, "letters.py", *words],
        cwd=folder,
        # The environment names another queue, which is none of this program's business.
        env={**environment(), "FAIRLANE_DATABASE": "sqlite:///other.db"},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert told.returncode == code, told.stderr
    return told.stdout + told.stderr


def test_a_program_brings_the_verbs_and_its_own(folder: Path) -> None:
    assert _letters(folder, "invite", "ann") == "sent to ann\n"
    assert "completed" in _letters(folder, "jobs")
    assert "mail" in _letters(folder, "pause", "mail")
    assert "paused" in _letters(folder, "queues")
    assert "letters.db" in _letters(folder, "doctor", code=0)
    assert not (folder / "other.db").exists()


def test_what_a_program_adds_is_shown_first(folder: Path) -> None:
    shown = _letters(folder, "--help")
    assert shown.index("invite") < shown.index("serve")


def test_the_paragraphs_of_a_help_are_wrapped_by_the_terminal(folder: Path) -> None:
    assert "The first line goes on here." in _letters(folder, "invite", "--help")


def test_the_help_names_no_variable_that_the_program_ignores(folder: Path) -> None:
    for command in ("jobs", "doctor", "prune"):
        shown = _letters(folder, command, "--help")
        assert "FAIRLANE_URL" not in shown
        assert "FAIRLANE_DATABASE" not in shown


def test_a_database_may_be_named_as_a_file(folder: Path) -> None:
    _letters(folder, "invite", "ann")
    (folder / "letters.db").rename(folder / "old letters.db")
    assert "completed" in _letters(folder, "jobs", "--database", "old letters.db")


def test_trouble_is_told_under_the_name_of_the_program(folder: Path) -> None:
    assert _letters(folder, "jobs", code=5).startswith("letters: there is no database")
    _letters(folder, "invite", "ann")
    assert "`letters jobs`" in _letters(folder, "show", "a/b", code=3)


def test_serving_takes_no_name_of_an_app(folder: Path) -> None:
    assert "MODULE:APP" not in _letters(folder, "serve", "--help")
    assert "extra" in _letters(folder, "work", "letters:app", code=2)  # an argument too many
