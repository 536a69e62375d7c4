"""Servers that answer as AdGuard Home never does."""

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from apps.dnslog.tests.adguard_servers import Home, make_settings, running_home
from fairlane_dnslog.adguard import AdGuard
from fairlane_dnslog.adguard_errors import BadAnswer, ServerUnavailable
from fairlane_dnslog.database import Database, open_database
from fairlane_dnslog.pull_log import read_server, recent_pulls
from fairlane_dnslog.puller import pull
from fairlane_dnslog.settings import Settings
from fairlane_dnslog.stand_in import Fault
from fairlane_dnslog.stand_in.faults import Kind


@pytest.fixture(scope="module")
def shared_home() -> Iterator[Home]:
    with running_home() as home:
        yield home


@pytest.fixture
def home(shared_home: Home) -> Iterator[Home]:
    yield shared_home
    shared_home.server.set_faults()


@pytest.fixture
def log(tmp_path: Path) -> Iterator[Database]:
    with closing(open_database(f"sqlite:///{tmp_path / 'dnslog.db'}")) as opened:
        opened.migrate()
        yield opened


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    return make_settings(tmp_path, page_size=10, most_pages=20)


@pytest.mark.parametrize(
    ("fault", "reason"),
    [
        (Fault(kind="html"), "a page of type text/html"),
        (Fault(kind="redirect"), r"a redirect \(302\) to other\.example"),
        (Fault(kind="redirect", target="/install.html"), "another path of this server"),
        (Fault(kind="malformed"), "JSON of another form"),
        (Fault(kind="wrong_types"), r"Expected `str`, got `int` - at `\$\.data\[0\]\.time`"),
        (Fault(kind="oversize"), "more than 8388608 bytes"),
    ],
)
def test_a_wrong_answer_is_one_clear_error(home: Home, fault: Fault, reason: str) -> None:
    home.server.set_faults(fault)

    with pytest.raises(BadAnswer, match=reason) as bad:
        home.client.read_log()

    assert str(bad.value).startswith('server "home": /control/querylog answered ')
    assert bad.value.expected
    assert bad.value.remedy


@pytest.mark.parametrize("kind", ["delay", "drip", "drip_head"])
def test_a_slow_server_has_a_bounded_time(home: Home, kind: Kind) -> None:
    home.server.set_faults(Fault(kind=kind, seconds=0.05 if kind != "delay" else 60.0))
    home.log(20)

    with (
        AdGuard(home.server.settings(), total_seconds=0.4) as client,
        pytest.raises(ServerUnavailable, match=r"not answered within 0\.4 s"),
    ):
        client.read_log()


def test_a_server_that_echoes_the_login_does_not_reveal_it(home: Home) -> None:
    home.server.set_faults(
        Fault(kind="redirect", target="http://stand-in.example/YWRtaW46c3RhbmQtaW4=")
    )

    with pytest.raises(BadAnswer) as bad:
        home.client.read_log()

    assert "stand-in" not in str(bad.value)
    assert "YWRtaW4" not in str(bad.value)


def test_a_failed_pull_has_its_error_in_its_row(
    home: Home, log: Database, settings: Settings
) -> None:
    home.server.set_faults(Fault(kind="html"))

    with pytest.raises(BadAnswer):
        pull(home.client, log, settings, job="j1", now=home.clock.seconds)

    with log.reading() as tx:
        [row] = recent_pulls(tx)
        assert read_server(tx, "home").watermark_at_ns is None
    assert (row.state, row.error_code, row.job, row.stored) == ("failed", "bad_answer", "j1", 0)
    assert row.error is not None
    assert "text/html" in row.error


def test_endless_pages_end_at_the_bound(home: Home, log: Database, settings: Settings) -> None:
    home.server.set_faults(Fault(kind="endless"))

    result = pull(home.client, log, settings, now=home.clock.seconds)

    assert (result.pages, result.stored) == (20, 20)
    with log.reading() as tx:
        [row] = recent_pulls(tx)
        assert read_server(tx, "home").watermark_at_ns is None
    assert "the bound of 20 pages is reached; the next pull goes on at 2025" in str(row.error)


def test_a_page_that_is_repeated_ends_the_pull_with_an_error(
    home: Home, log: Database, settings: Settings
) -> None:
    home.log(30)
    home.server.set_faults(Fault(kind="repeat"))

    with pytest.raises(BadAnswer, match="expected older rows on every page"):
        pull(home.client, log, settings, now=home.clock.seconds)


def test_empty_pages_that_lead_on_are_followed(
    home: Home, log: Database, settings: Settings
) -> None:
    home.log(50)
    home.server.set_faults(Fault(kind="empty_pages", times=2))

    result = pull(home.client, log, settings, now=home.clock.seconds)

    assert result.pages > 3
    assert 0 < result.stored < home.server.state.log.last_number


def test_hostile_names_are_stored(log: Database, settings: Settings) -> None:
    names = [
        "<img src=x onerror=alert(1)>.example",
        "null\x00and\x1b[2Jescape.example",
        "a" * 63 + "." + "b" * 63 + "." + "c" * 63 + "." + "d" * 61,
        "xn--80ak6aa92e.example",
        "'; DROP TABLE query_log; --",
        "= cmd|' /C calc'!A0",
    ]
    with running_home() as home:
        for name in names:
            home.log(1, domain=name)

        result = pull(home.client, log, settings, now=home.clock.seconds)

    assert result.stored == len(names)
    with log.reading() as tx:
        stored = {row["qh"] for row in tx.rows("SELECT qh FROM query_log")}
    assert "null\\000and\\027[2Jescape.example" in stored
    assert names[0] in stored
