"""docs/reference.md agrees with the signatures, the settings of schedules and the environment."""

import re
from pathlib import Path

from fairlane.api.models import NewSchedule
from fairlane.leader.schedule import Rules
from tests.support.reference_document import DOCUMENT, INTERNAL, RULES, VARIABLES, document

SOURCE = Path(__file__).resolve().parents[2] / "src" / "fairlane"


def test_the_reference_is_up_to_date() -> None:
    stored = DOCUMENT.read_text(encoding="utf-8")
    assert stored == document(), "run `python -m tests.support.reference_document`"


def test_the_reference_has_every_rule_of_a_schedule_with_its_default() -> None:
    assert RULES.keys() == Rules.__annotations__.keys()
    fields = NewSchedule.model_fields
    usual = {name: fields[name].default for name in RULES if fields[name].default is not None}
    assert {name: value for name, (value, _) in RULES.items() if value} == {
        name: str(value) for name, value in usual.items()
    }


def test_the_reference_has_every_environment_variable() -> None:
    texts = (file.read_text(encoding="utf-8") for file in SOURCE.rglob("*.py"))
    used = {name for text in texts for name in re.findall(r"FAIRLANE_[A-Z_]+", text)}
    assert used - INTERNAL == VARIABLES.keys()
