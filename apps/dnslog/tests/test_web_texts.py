"""The texts of the pages: both languages complete, every text used, every use with its values."""

import ast
import string
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Final

import pytest
from jinja2 import Environment, nodes

import fairlane_dnslog.web
from fairlane_dnslog.rules.rule import Kind
from fairlane_dnslog.rules.window import WEEKDAYS
from fairlane_dnslog.stand_in.services import SERVICES
from fairlane_dnslog.web.accounts import ROLES
from fairlane_dnslog.web.language import LANGUAGES, load_texts
from fairlane_dnslog.web.rule_form import TIMES
from fairlane_dnslog.web.rule_presets import PRESETS
from fairlane_dnslog.web.theme import THEMES
from fairlane_dnslog.web.time_ranges import RANGES

WEB: Final = Path(fairlane_dnslog.web.__file__).parent
FUNCTIONS: Final = ("t", "t_or", "text", "text_or", "Refused", "_act")
# Names that are put together from a prefix and a value of the program.
GROUPS: Final[dict[str, Iterable[str]]] = {
    "kind.": [kind.value for kind in Kind],
    "weekday.": WEEKDAYS,
    "weekday.short.": WEEKDAYS,
    "range.": RANGES,
    "times.": TIMES,
    "preset.": PRESETS,
    "role.": ROLES,
    "theme.": THEMES,
    "nav.": ("overview", "log", "rules", "status"),
    "group.": {service.group for service in SERVICES},
    "status.": ("paused", "failing", "late"),
    "pull.": ("succeeded", "failed", "refused"),
    "pull_error.": (
        "unavailable",
        "login_refused",
        "bad_answer",
        "rows_refused",
        "bound",
        "stopped",
    ),
    "work.": ("pull", "reconcile", "boundary", "tidy"),
    "unit.": ("s", "min", "h"),
}

Use = tuple[str, frozenset[str], str]  # a name or prefix, the names of its values, the file


def template_uses() -> Iterator[Use]:
    for path in sorted((WEB / "templates").glob("*.html")):
        tree = Environment(autoescape=True).parse(path.read_text(encoding="utf-8"))
        for call in tree.find_all(nodes.Call):
            if isinstance(call.node, nodes.Name) and call.node.name in FUNCTIONS:
                values = frozenset(keyword.key for keyword in call.kwargs)
                yield from ((name, values, path.name) for name in constants(call.args[0]))


def constants(node: nodes.Node) -> Iterator[str]:
    """Yield the names that a first argument can be, or its constant beginning."""
    if isinstance(node, nodes.Concat):
        yield from constants(node.nodes[0])
    elif isinstance(node, nodes.CondExpr):
        yield from constants(node.expr1)
        assert node.expr2 is not None
        yield from constants(node.expr2)
    else:
        assert isinstance(node, nodes.Const), node
        yield node.value


def module_uses() -> Iterator[Use]:
    for path in sorted(WEB.glob("*.py")):
        for call in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(call, ast.Call) and called_name(call.func) in FUNCTIONS:
                values = frozenset(keyword.arg for keyword in call.keywords if keyword.arg)
                for argument in call.args[:2]:
                    yield from ((name, values, path.name) for name in literals(argument))


def called_name(node: ast.expr) -> str:
    if isinstance(node, ast.Attribute):
        return node.attr
    return node.id if isinstance(node, ast.Name) else ""


def literals(node: ast.expr) -> Iterator[str]:
    if isinstance(node, ast.Constant) and isinstance(node.value, str) and "." in node.value:
        yield node.value
    elif isinstance(node, ast.JoinedStr) and isinstance(node.values[0], ast.Constant):
        yield str(node.values[0].value)
    elif isinstance(node, ast.IfExp):
        yield from literals(node.body)
        yield from literals(node.orelse)


USES: Final = [*template_uses(), *module_uses()]


def placeholders(text: str) -> frozenset[str]:
    return frozenset(name for _, name, _, _ in string.Formatter().parse(text) if name)


def test_both_languages_have_the_same_texts_with_the_same_values() -> None:
    english, chinese = load_texts("en"), load_texts("zh")
    assert list(english) == list(chinese)
    differing = [
        name for name in english if placeholders(english[name]) != placeholders(chinese[name])
    ]
    assert differing == []
    assert [name for name in english if not english[name] or not chinese[name]] == []


def test_chinese_texts_are_chinese() -> None:
    same = {name for name, text in load_texts("zh").items() if text.isascii()}
    assert same == {"unit.ms"}


def test_every_name_in_templates_and_modules_is_a_text() -> None:
    known = load_texts("en")
    unknown = [use for use in USES if use[0] not in known and not use[0].endswith(".")]
    assert unknown == []


def test_every_text_is_used() -> None:
    names = {name for name, _, _ in USES}
    prefixes = tuple(name for name in names if name.endswith("."))
    unused = [
        name for name in load_texts("en") if name not in names and not name.startswith(prefixes)
    ]
    assert unused == []


def test_every_use_gives_the_values_that_its_text_has() -> None:
    known = load_texts("en")
    wrong = [
        (name, sorted(values), file)
        for name, values, file in USES
        if name in known
        and values != placeholders(known[name])
        # The script of the page fills this one in.
        and name != "overview.readout"
        # `_act` adds the server.
        and not (name.startswith("status.") and placeholders(known[name]) == {"server"})
    ]
    assert wrong == []


@pytest.mark.parametrize("prefix", GROUPS)
def test_names_from_values_of_the_program_are_texts(prefix: str) -> None:
    assert [one for one in GROUPS[prefix] if f"{prefix}{one}" not in load_texts("en")] == []


def test_the_languages_have_files() -> None:
    assert {path.stem for path in (WEB / "texts").glob("*.toml")} == set(LANGUAGES)
