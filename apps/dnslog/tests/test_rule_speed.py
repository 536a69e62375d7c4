"""Rules saved by people with a login, in four gunicorn workers and on the server.

The times of fifty saves, also on SQLite, are printed by `python -m apps.dnslog.tests.rule_speed`.
"""

from apps.dnslog.tests.rule_speed import run


def test_a_rule_saved_in_any_way_is_in_force_in_all_workers_and_on_the_server() -> None:
    verdict = run("postgres", saves=2, at_once=5)

    assert len(verdict.seconds) == 2
