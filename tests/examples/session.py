"""Run the snippets of one document as its reader would: in order, in one folder."""

import os
import re
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from tests.examples.snippets import PYTHON, Snippet

LIMIT_SECONDS: Final = 60.0
SEAM: Final = "\x1e"  # printed between the parts of a program, never by a document


class SnippetFailed(AssertionError):
    """A block did not run, or its output differs from the document."""


@dataclass
class Program:
    """A Python block with its continuations, each with the output expected of it, if any."""

    parts: list[Snippet]
    outputs: list[Snippet | None] = field(default_factory=lambda: [None])


def run_document(snippets: list[Snippet], folder: Path) -> int:
    """Run all blocks and return their number; raise at the first error."""
    blocks = 0
    for step in _steps(snippets):
        if isinstance(step, Program):
            _run_program(step, folder)
            blocks += len(step.parts)
        elif step.action == "file":
            _write(step, folder)
        else:
            _run_shell(step, folder)
            blocks += 1
    return blocks


def _steps(snippets: list[Snippet]) -> list[Program | Snippet]:
    """Join programs with their continuations and outputs, and keep the rest as it comes.

    A file between a program and its continuation is written before either runs.
    """
    steps: list[Program | Snippet] = []
    program: Program | None = None
    for snippet in snippets:
        if snippet.action == "continue" and program is not None:
            program.parts.append(snippet)
            program.outputs.append(None)
        elif snippet.action == "output" and program is not None:
            program.outputs[-1] = snippet
        elif snippet.action == "file":
            steps.insert(len(steps) - (program is not None), snippet)
        elif snippet.action == "run" and snippet.language in PYTHON:
            program = Program([snippet])
            steps.append(program)
        elif snippet.action in ("run", "output"):
            program = None
            steps.append(snippet)
        else:
            program = None
    return _with_shell_outputs(steps)


def _with_shell_outputs(steps: list[Program | Snippet]) -> list[Program | Snippet]:
    """Turn `sh` followed by its output into the console block that says the same."""
    joined: list[Program | Snippet] = []
    for step in steps:
        if isinstance(step, Snippet) and step.action == "output":
            shell = joined.pop()
            assert isinstance(shell, Snippet)
            commands = "".join(f"$ {line}\n" for line in _commands(shell))
            joined.append(
                Snippet(
                    document=shell.document,
                    line=shell.line,
                    language="console",
                    text=commands + step.text,
                    action="run",
                )
            )
        else:
            joined.append(step)
    return joined


def _run_program(program: Program, folder: Path) -> None:
    first = program.parts[0]
    name = f"{Path(first.document).stem}_line_{first.line}.py".lower().replace("-", "_")
    (folder / name).write_text(_source(program), encoding="utf-8")
    printed = _run([sys.executable, name], folder, place=first.place)
    pieces = printed.split(SEAM + "\n")
    for part, expected, piece in zip(program.parts, program.outputs, pieces, strict=True):
        if expected is not None:
            _compare(expected.text, piece, place=expected.place, made_by=part.place)


def _source(program: Program) -> str:
    """Lay the parts out at their own lines, so that a traceback names the line of the document."""
    source = ""
    for number, part in enumerate(program.parts):
        gap = part.line - 1 - source.count("\n")
        if number == 0:
            source += "\n" * gap
        else:
            source += "\n" * (gap - 1) + f"print({SEAM!r}, flush=True)\n"
        source += part.text
    return source


def _write(file: Snippet, folder: Path) -> None:
    if file.detail.endswith(".py"):
        compile(file.text, file.place, "exec")
    path = folder / file.detail
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(file.text, encoding="utf-8")


def _run_shell(snippet: Snippet, folder: Path) -> None:
    if snippet.language == "sh":
        _run(["sh", "-eu", "-c", snippet.text], folder, place=snippet.place)
        return
    for command, expected in _dialogue(snippet):
        printed = _run(["sh", "-eu", "-c", command], folder, place=snippet.place)
        if expected:
            _compare(expected, printed, place=snippet.place, made_by=command)


def _commands(shell: Snippet) -> list[str]:
    commands = [line for line in shell.text.splitlines() if line and not line.startswith("#")]
    if len(commands) != 1:
        raise SnippetFailed(
            f"{shell.place}: {len(commands)} commands share one output; "
            'write a "console" block, or one command'
        )
    return commands


def _dialogue(snippet: Snippet) -> list[tuple[str, str]]:
    """Read `$ command` lines, each with the output that follows it; `> ` continues a command."""
    exchanges: list[tuple[str, str]] = []
    for line in snippet.text.splitlines():
        if line.startswith("$ "):
            exchanges.append((line[2:], ""))
        elif not exchanges:
            raise SnippetFailed(f'{snippet.place}: a console block begins with "$ " and a command')
        elif line.startswith("> ") and not exchanges[-1][1]:
            exchanges[-1] = (exchanges[-1][0] + "\n" + line[2:], "")
        else:
            exchanges[-1] = (exchanges[-1][0], exchanges[-1][1] + line + "\n")
    return exchanges


def _run(command: list[str], folder: Path, *, place: str) -> str:
    environment = dict(os.environ)
    environment["PATH"] = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    environment |= {"PYTHONIOENCODING": "utf-8", "NO_COLOR": "1", "COLUMNS": "100"}
    try:
        ended = subprocess.run(
            command,
            cwd=folder,
            env=environment,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            encoding="utf-8",
            timeout=LIMIT_SECONDS,
            check=False,
        )
    except subprocess.TimeoutExpired as late:
        raise SnippetFailed(
            f"{place}: did not end within {LIMIT_SECONDS:g} s; it had printed {late.stdout!r}"
        ) from late
    if ended.returncode != 0:
        raise SnippetFailed(
            f"{place}: ended with exit code {ended.returncode}\n{ended.stdout}{ended.stderr}"
        )
    return ended.stdout


def _compare(expected: str, printed: str, *, place: str, made_by: str) -> None:
    if not _pattern(expected).fullmatch(_trimmed(printed)):
        raise SnippetFailed(
            f"{place}: {made_by} printed\n\n{_trimmed(printed)}\nbut the document says\n\n"
            f"{_trimmed(expected)}"
        )


def _pattern(expected: str) -> re.Pattern[str]:
    """Let … match any text within its line, and alone on a line any number of lines."""
    pattern = ""
    for line in _trimmed(expected).splitlines():
        if line.strip() == "…":
            pattern += "(?:.*\n)*?"
        else:
            pattern += ".*?".join(re.escape(piece) for piece in line.split("…")) + "\n"
    return re.compile(pattern)


def _trimmed(text: str) -> str:
    lines = [line.rstrip() for line in text.strip("\n").splitlines()]
    return "\n".join(lines) + "\n"
