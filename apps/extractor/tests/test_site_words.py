"""The texts and the types of the page."""

import re
import subprocess
from pathlib import Path
from typing import Final

import pytest

import fairlane_extractor.site
from fairlane_extractor.site.task_view import STATUS_OF_STAGE, TaskStatus, stage_name

SCRIPTS: Final = Path(fairlane_extractor.site.__file__).parent / "static" / "js"
COMPILER: Final = Path(__file__).parents[3] / "console" / "node_modules" / ".bin" / "tsc"
WORD: Final = re.compile(r'^  "([\w.]+)":\s*"(.*)",$', re.MULTILINE)
USED: Final = re.compile(r"""\bt\(\s*["'`]([\w.]+)["'`]|word: "([\w.]+)\"""")


def words(language: str) -> dict[str, str]:
    return dict(WORD.findall((SCRIPTS / f"words_{language}.js").read_text()))


def test_every_text_has_a_translation_with_the_same_facts() -> None:
    english, chinese = words("en"), words("zh")
    translated_codes = {key for key in chinese if key.startswith(("reason.", "error."))}
    assert chinese.keys() - translated_codes == english.keys()
    for key, text in english.items():
        facts = set(re.findall(r"{\w+}", text))
        assert set(re.findall(r"{\w+}", chinese[key])) == facts, key


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
