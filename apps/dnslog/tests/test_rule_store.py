"""Rules in the database: changes, their audit rows, and stale edits."""

import threading
from contextlib import closing
from pathlib import Path

import pytest

from apps.dnslog.tests.rule_examples import custom, draft
from fairlane_dnslog.database import Database, open_database
from fairlane_dnslog.rules.audit import AuditRow, read_audit
from fairlane_dnslog.rules.errors import InvalidRule, RuleNotFound, StaleRule, TooManyRules
from fairlane_dnslog.rules.rule import MOST_RULES, Rule, RuleDraft, RuleSet
from fairlane_dnslog.rules.rule_store import delete_rule, enable_rule, load_rules, save_rule
from fairlane_dnslog.rules.window import Window


def loaded(database: Database) -> RuleSet:
    with database.reading() as tx:
        return load_rules(tx)


def audited(database: Database) -> list[AuditRow]:
    with database.reading() as tx:
        return read_audit(tx)


def create(database: Database, given: RuleDraft | None = None, *, now: float = 100.0) -> Rule:
    return save_rule(database, given or draft(), actor="ann", now=now)


def test_a_saved_rule_is_read_back_as_it_was(database: Database) -> None:
    window = Window(weekdays=("mon",), start="16:00", end="20:00", timezone="Europe/Berlin")
    rule = create(database, draft("Hausaufgaben ✏️", clients=("Kid's tablet",), window=window))
    rules = loaded(database)
    assert rules.rules == (rule,)
    assert rules.version == 1
    assert (rule.window, rule.updated_by, rule.updated_at) == (window, "ann", 100.0)


def test_each_change_has_an_audit_row_with_the_state_before_and_after(database: Database) -> None:
    rule = create(database)
    rule = save_rule(
        database, draft("Play"), rule=rule.id, revision=rule.revision, actor="bob", now=101.0
    )
    rule = enable_rule(
        database, rule.id, enabled=False, revision=rule.revision, actor="ann", now=102.0
    )
    delete_rule(database, rule.id, revision=rule.revision, actor="bob", now=103.0)
    rows = audited(database)[::-1]
    assert [(row.actor, row.action, row.at) for row in rows] == [
        ("ann", "rule created", 100.0),
        ("bob", "rule changed", 101.0),
        ("ann", "rule disabled", 102.0),
        ("bob", "rule deleted", 103.0),
    ]
    assert rows[1].detail["before"]["name"] == "Homework"
    assert rows[1].detail["after"]["name"] == "Play"
    assert (rows[0].detail["before"], rows[3].detail["after"]) == (None, None)
    assert loaded(database) == RuleSet(version=4)


def test_a_stale_edit_is_refused_and_changes_nothing(database: Database) -> None:
    old = create(database)
    save_rule(database, draft("Play"), rule=old.id, revision=old.revision, actor="bob", now=100.0)
    before = loaded(database), audited(database)
    for attempt in (
        lambda: save_rule(
            database, draft("Mine"), rule=old.id, revision=old.revision, actor="ann", now=1.0
        ),
        lambda: enable_rule(
            database, old.id, enabled=False, revision=old.revision, actor="ann", now=1.0
        ),
        lambda: delete_rule(database, old.id, revision=old.revision, actor="ann", now=1.0),
    ):
        with pytest.raises(StaleRule, match="'bob'"):
            attempt()
    assert (loaded(database), audited(database)) == before


def test_a_change_by_plain_sql_makes_an_edit_stale_too(database: Database) -> None:
    rule = create(database)
    with database.transaction() as tx:
        tx.run("UPDATE rule SET name = 'By hand'")
    with pytest.raises(StaleRule):
        delete_rule(database, rule.id, revision=rule.revision, actor="ann", now=1.0)


def test_the_last_change_is_the_newest_even_if_the_clock_went_back(database: Database) -> None:
    rule = create(database, now=100.0)
    changed = save_rule(
        database, draft("Play"), rule=rule.id, revision=rule.revision, actor="ann", now=50.0
    )
    assert changed.updated_at > rule.updated_at


def test_of_many_edits_of_one_revision_one_succeeds(database: Database) -> None:
    rule = create(database)
    results: list[str] = []

    def edit(number: int) -> None:
        try:
            save_rule(
                database,
                draft(f"Edit {number}"),
                rule=rule.id,
                revision=rule.revision,
                actor="ann",
                now=101.0,
            )
            results.append("saved")
        except StaleRule:
            results.append("stale")

    threads = [threading.Thread(target=edit, args=(number,)) for number in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(results) == ["saved", *["stale"] * 5]
    assert len(audited(database)) == 2


def test_unknown_rules_services_and_servers_are_refused(database: Database) -> None:
    with pytest.raises(RuleNotFound):
        delete_rule(database, 77, revision="x", actor="ann", now=1.0)
    with pytest.raises(InvalidRule, match="tiktok"):
        save_rule(database, draft(), actor="ann", now=1.0, known_services=["tiktok"])
    with pytest.raises(InvalidRule, match="servers"):
        save_rule(database, draft(servers=("x",)), actor="ann", now=1.0, known_servers=["home"])
    assert loaded(database).version == 0


def test_an_unreadable_row_is_reported_and_can_be_deleted(database: Database) -> None:
    good = create(database)
    with database.transaction() as tx:
        for kind, detail in (("nosuch", "{}"), ("custom_rules", "{"), ("custom_rules", "[]")):
            tx.run(
                "INSERT INTO rule (name, kind, detail) VALUES ('By hand', :kind, :detail)",
                kind=kind,
                detail=detail,
            )
    rules = loaded(database)
    assert rules.rules == (good,)
    assert [broken.name for broken in rules.broken] == ["By hand"] * 3
    for broken in rules.broken:
        delete_rule(database, broken.id, revision=broken.revision, actor="ann", now=1.0)
    assert loaded(database).broken == ()


def test_a_time_written_as_text_makes_one_rule_unreadable(tmp_path: Path) -> None:
    with closing(open_database(f"sqlite:///{tmp_path}/dnslog.db")) as database:
        database.migrate()
        good = create(database)
        with database.transaction() as tx:
            tx.run(
                "INSERT INTO rule (name, kind, updated_at) "
                "VALUES ('By hand', 'protection_off', CURRENT_TIMESTAMP)"
            )
        rules = loaded(database)
        assert (rules.rules, [broken.name for broken in rules.broken]) == ((good,), ["By hand"])


def test_the_number_of_rules_has_a_bound(database: Database) -> None:
    with database.transaction() as tx:
        for number in range(MOST_RULES):
            tx.run(
                "INSERT INTO rule (name, kind) VALUES (:name, 'protection_off')",
                name=f"Rule {number}",
            )
    assert len(loaded(database).rules) == MOST_RULES
    with pytest.raises(TooManyRules):
        create(database, custom("One more", "||a.example^"))
    with database.transaction() as tx:
        tx.run("INSERT INTO rule (name, kind) VALUES ('By hand', 'protection_off')")
    assert [broken.name for broken in loaded(database).broken] == ["By hand"]
