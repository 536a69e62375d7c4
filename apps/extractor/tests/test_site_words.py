"""The texts and the types of the page."""

import ast
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import pytest

import fairlane_extractor.site
from fairlane_extractor.site.task_view import STATUS_OF_STAGE, TaskStatus, stage_name

SCRIPTS: Final = Path(fairlane_extractor.site.__file__).parent / "static" / "js"
PACKAGE: Final = Path(fairlane_extractor.site.__file__).parents[1]
COMPILER: Final = Path(__file__).parents[3] / "console" / "node_modules" / ".bin" / "tsc"
WORD: Final = re.compile(r'^  "([\w.]+)":\s*"(.*)",$', re.MULTILINE)
USED: Final = re.compile(r"""\bt\(\s*["'`]([\w.]+)["'`]|word: "([\w.]+)\"""")


# The place of the code among the arguments of a call; others have it as `code=`.
CODE_OF_CALL: Final = {"ChildError": 0, "TrackProblem": 0, "_skipped": 0, "_skip": 1}


def words(language: str) -> dict[str, str]:
    return dict(WORD.findall((SCRIPTS / f"words_{language}.js").read_text()))


def test_every_text_has_a_translation_with_the_same_facts() -> None:
    english, chinese = words("en"), words("zh")
    translated_codes = {key for key in chinese if key.startswith(("reason.", "error."))}
    assert chinese.keys() - translated_codes == english.keys()
    for key, text in english.items():
        facts = set(re.findall(r"{\w+}", text))
        assert set(re.findall(r"{\w+}", chinese[key])) == facts, key


def test_every_code_of_an_extraction_has_a_translation() -> None:
    files = [PACKAGE / "extraction.py", PACKAGE / "child_program.py"]
    for folder in ("sources", "speech", "frames", "tracks"):
        files += (PACKAGE / folder).glob("*.py")
    codes = {code for path in files for code in codes_in(path)}
    assert len(codes) > 30
    chinese = words("zh")
    assert {
        code for code in codes if not {f"reason.{code}", f"error.{code}"} & set(chinese)
    } == set()


def codes_in(path: Path) -> Iterator[str]:
    for node in ast.walk(ast.parse(path.read_text())):
        if not isinstance(node, ast.Call):
            continue
        name = getattr(node.func, "id", getattr(node.func, "attr", ""))
        place = CODE_OF_CALL.get(name, len(node.args))
        values = [
            *node.args[place : place + 1],
            *(k.value for k in node.keywords if k.arg == "code"),
        ]
        for value in values:
            for one in [value.body, value.orelse] if isinstance(value, ast.IfExp) else [value]:
                if isinstance(one, ast.Constant) and isinstance(one.value, str):
                    yield one.value


def test_every_text_that_a_module_names_exists() -> None:
    english = words("en")
    used = {
        one or other
        for path in SCRIPTS.glob("*.js")
        for one, other in USED.findall(path.read_text())
    }
    assert len(used) > 50
    assert used <= english.keys()
    for status in TaskStatus:
        assert f"status.{status}" in english
    for stage in STATUS_OF_STAGE:
        assert f"stage.{stage_name(stage)}" in english


def test_the_modules_have_the_types_that_they_name() -> None:
    if not COMPILER.exists():
        pytest.skip("the console's TypeScript is not installed (make console)")
    finished = subprocess.run(
        [COMPILER, "--noEmit", "--allowJs", "--checkJs", "--strict", "--noUncheckedIndexedAccess",
         "--target", "es2022", "--module", "es2022", "--lib", "es2022,dom,dom.iterable",
         SCRIPTS / "main.js"],
        stdout=subprocess.PIPE, text=True,
    )  # fmt: skip
    assert finished.returncode == 0, finished.stdout
