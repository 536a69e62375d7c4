"""One guard, the change that removes it, and the commands that must notice."""

import re
from collections.abc import Iterable
from pathlib import Path
from typing import Final

from msgspec import Struct

TESTS_SECONDS: Final = 240.0
WORLDS_SECONDS: Final = 300.0
TOGETHER_SECONDS: Final = 900.0
_PYTEST: Final = ("-m", "pytest", "-x", "-q", "--no-header", "--tb=line", "-p", "no:cacheprovider")
_TEST: Final = r"^(?:FAILED|ERROR) (\S+)"
_WORLD: Final = r"^(seed \d+ on .+)$"
_PROBLEM: Final = r"^  (\S.+)$"


class Command(Struct, frozen=True):
    """Arguments for Python. The exit code 1 means that the command noticed the mutation."""

    words: tuple[str, ...]
    limit_seconds: float
    pattern: str = _WORLD  # finds the noticed problem in its output

    def __str__(self) -> str:
        return " ".join(("python", *self.words))

    def finding(self, output: str) -> str:
        """Return the noticed problem from the output, or else its last line."""
        found = re.search(self.pattern, output, re.MULTILINE)
        if found is not None:
            return found.group(1)
        lines = [line.strip() for line in output.splitlines() if line.strip()]
        return lines[-1] if lines else "it ended without output"


def suite(*selection: str) -> Command:
    """Run some tests: files, or tests by their ids."""
    return Command((*_PYTEST, *selection), TESTS_SECONDS, _TEST)


def worlds(seeds: int = 40, *, first: int = 1, store: str | None = None) -> Command:
    """Run simulated worlds until one violates a rule."""
    chosen = () if store is None else ("--store", store)
    counts = ("--first", str(first), "--seeds", str(seeds))
    return Command(("-m", "mutations.worlds", *counts, *chosen), WORLDS_SECONDS)


def together(commands: Iterable[Command]) -> list[Command]:
    """Return commands that pass if and only if all of these do: tests can share one run."""
    selections: dict[str, None] = {}
    others: dict[Command, None] = {}
    for command in commands:
        if command.words[:2] == _PYTEST[:2]:
            selections |= dict.fromkeys(command.words[len(_PYTEST) :])
        else:
            others[command] = None
    tested = [Command((*_PYTEST, *selections), TOGETHER_SECONDS, _TEST)] if selections else []
    return [*tested, *others]


def power_cuts(times: int) -> Command:
    """Run `times` power cuts, and check the surviving data."""
    words = ("-m", "chaos", "power-cuts", "--times", str(times), "--seed", "1")
    return Command(words, TESTS_SECONDS, _PROBLEM)


class Mutation(Struct, frozen=True, kw_only=True):
    """`find` occurs exactly once in `file`, which is named from the root of the repository."""

    name: str
    guards: str
    file: str
    find: str
    replace: str
    noticed_by: tuple[Command, ...]

    def applied_to(self, root: Path) -> str:
        """Return the text of the file without the guard, or raise that the list is out of date."""
        path = root / self.file
        if not path.is_file():
            raise OutOfDate(f"{self.name}: {self.file} does not exist")
        text = path.read_text()
        count = text.count(self.find)
        if count != 1:
            raise OutOfDate(
                f"{self.name}: its text occurs {count} times in {self.file}, not once:\n{self.find}"
            )
        return text.replace(self.find, self.replace)


class OutOfDate(Exception):
    """The code of a guard has changed; its entry must be updated."""
