"""The command line, in processes of its own: texts, files, refusals and their exit codes."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from apps.extractor.tests.clips import copied_clip

TEXT = "A fox, and a dog."


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with two clips whose tracks have the text."""
    for name in ("one.mp4", "two.mp4"):
        copied_clip(
            tmp_path / name, tracks=[("en", [(0.5, 2.0, TEXT)])], seconds=3, sound="silence"
        )
    return tmp_path


def run(folder: Path, *words: str, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "fairlane_extractor", *words],
        cwd=folder, capture_output=True, text=True, check=False, timeout=120,
        env={**os.environ, "XDG_DATA_HOME": str(folder / "data"), "NO_COLOR": "1", **environment},
    )  # fmt: skip


def test_texts_go_to_stdout_or_to_files_and_the_search_finds_them(folder: Path) -> None:
    both = run(folder, "one.mp4", "two.mp4", "--frames", "never")
    assert (both.returncode, both.stderr) == (0, "")
    assert both.stdout == f"== one ==\n{TEXT}\n\n== two ==\n{TEXT}\n"
    files = run(folder, ".", "--frames", "never", "--format", "srt", "--to", "texts")
    assert files.returncode == 0
    assert sorted(path.name for path in (folder / "texts").iterdir()) == ["one.srt", "two.srt"]
    assert TEXT in (folder / "texts" / "one.srt").read_text()
    facts = json.loads(run(folder, "one.mp4", "--frames", "never", "--json").stdout)
    assert facts[0]["state"] == "completed"
    found = json.loads(run(folder, "search", "fox", "--json").stdout)
    assert {hit["title"] for hit in found} == {"one", "two"}
    text = run(folder, "text", found[0]["id"], "--format", "txt")
    assert text.stdout == f"{TEXT}\n"
    assert run(folder, "text", "unknown").returncode == 3


@pytest.mark.parametrize(
    ("words", "environment", "reason"),
    [
        (["one.mp4", "two.mp4", "--format", "srt"], {}, "several srt texts need files"),
        (["one.mp4", "--to", "two.mp4"], {}, "two.mp4: file exists"),
        ([""], {}, "an input is empty"),
        (["ftp://host/x"], {}, "ftp://host/x is neither a file nor a link"),
        (["one.mp4", "--language", "english"], {}, '"english" is no code of a language'),
        (["--help"], {"FAIRLANE_EXTRACT_MEDIA": "foo"}, "it must be keep or remove"),
        (["jobs"], {"FAIRLANE_EXTRACT_FOLDER": "/proc/nope"}, "/proc/nope"),
        (["serach", "fox"], {}, "did you mean search?"),
    ],
)
def test_a_mistake_is_one_message_and_not_a_traceback(
    folder: Path, words: list[str], environment: dict[str, str], reason: str
) -> None:
    refused = run(folder, *words, **environment)
    assert refused.returncode == 2
    assert reason in " ".join(refused.stderr.replace("│", " ").split())
    assert "Traceback" not in refused.stderr


def test_one_bad_name_does_not_stop_a_folder(folder: Path) -> None:
    (folder / "two.mp4").rename(os.fsdecode(os.fsencode(folder) + b"/b\xff.mp4"))
    done = run(folder, ".", "--frames", "never")
    assert done.returncode == 1
    assert TEXT in done.stdout
    assert "is not UTF-8; rename the file" in done.stderr
