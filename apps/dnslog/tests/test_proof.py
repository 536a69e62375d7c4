"""Four gunicorn workers under faults, compared with the journal of the stand-in.

The whole proof, of five minutes, is `python -m apps.dnslog.tests.proof`.
"""

import pytest

from apps.dnslog.tests.gunicorn_program import Kind
from apps.dnslog.tests.proof import Plan, run


@pytest.mark.parametrize("kind", ["postgres", "sqlite"])
def test_no_row_is_lost_or_stored_twice_while_leaders_die_and_servers_restart(kind: Kind) -> None:
    verdict = run(Plan.short(), kind)

    assert not verdict.problems
    assert verdict.counts["leaders killed"] >= 2
    assert verdict.counts["rows stored"] > 500
