from collections.abc import Iterator

import pytest

from apps.dnslog.tests.adguard_servers import Home, running_home
from fairlane_dnslog.adguard import AdGuard
from fairlane_dnslog.adguard_errors import BadAnswer, LoginRefused, ServerUnavailable
from fairlane_dnslog.settings import ServerSettings
from fairlane_dnslog.stand_in import Fault
from fairlane_dnslog.timestamps import SECOND_NS


@pytest.fixture(scope="module")
def shared_home() -> Iterator[Home]:
    with running_home() as home:
        yield home


@pytest.fixture
def home(shared_home: Home) -> Iterator[Home]:
    yield shared_home
    shared_home.server.set_faults()
    shared_home.server.forget_logins()


def test_a_page_has_the_newest_rows_first(home: Home) -> None:
    logged = home.log(5)

    page = home.client.read_log(limit=3)

    assert [entry.at_ns for entry in page.entries] == [row.at_ns for row in logged[:1:-1]]
    assert page.oldest == page.entries[-1].time


def test_the_next_page_begins_before_the_oldest_row(home: Home) -> None:
    logged = home.log(4)
    first = home.client.read_log(limit=2)

    second = home.client.read_log(limit=2, older_than=first.oldest)

    assert [entry.at_ns for entry in second.entries] == [logged[1].at_ns, logged[0].at_ns]


def test_a_page_without_an_acceptable_row_is_the_answer_of_another_server() -> None:
    with running_home() as home:
        home.log(3, at_ns=-SECOND_NS)

        with pytest.raises(BadAnswer, match=r"not one of its log: .* is not a time of RFC 3339"):
            home.client.read_log()
        home.log(1)
        page = home.client.read_log()

    assert (len(page.entries), len(page.refused), page.size) == (1, 3, 4)


def test_written_rules_are_read_back(home: Home) -> None:
    home.client.write_rules(["! a comment", "||a.example^"])

    assert home.client.read_filtering().user_rules == ["! a comment", "||a.example^"]
    home.client.write_rules([])
    assert home.client.read_filtering().user_rules == []


def test_protection_is_disabled_for_a_time(home: Home) -> None:
    home.client.set_protection(enabled=False, duration_ms=60_000)
    status = home.client.read_status()
    assert (status.protection_enabled, status.protection_disabled_duration) == (False, 60_000)

    home.clock.advance(61)

    assert home.client.read_status().protection_enabled


def test_services_and_clients_are_read(home: Home) -> None:
    services = {service.id: service.rules for service in home.client.read_services()}
    clients = home.client.read_clients()

    assert "||chatgpt.com^" in services["chatgpt"]
    assert "Mia tablet" in {client.name for client in clients.clients or ()}
    assert "guest-7f3a" in {client.name for client in clients.auto_clients or ()}


def test_a_refused_login_says_so_and_contains_no_password(home: Home) -> None:
    with (
        AdGuard(home.server.settings(password="hunter2-secret")) as client,  # noqa: S106
        pytest.raises(LoginRefused, match='user "admin"') as refused,
    ):
        client.read_status()

    assert "hunter2" not in str(refused.value) + repr(client) + repr(refused.value)


def test_five_wrong_logins_lock_a_right_one_out(home: Home) -> None:
    with AdGuard(home.server.settings(password="wrong")) as client:  # noqa: S106
        for _ in range(5):
            with pytest.raises(LoginRefused):
                client.read_status()

    with pytest.raises(LoginRefused, match="15 minutes"):
        home.client.read_status()
    home.clock.advance(901)
    assert home.client.read_status().running


@pytest.mark.parametrize("status", [429, 500, 502, 503])
def test_an_overloaded_server_is_unavailable(home: Home, status: int) -> None:
    home.server.set_faults(Fault(kind="status", status=status, times=1))

    with pytest.raises(ServerUnavailable, match=str(status)):
        home.client.read_log()


def test_a_forbidden_request_is_a_refused_login(home: Home) -> None:
    home.server.set_faults(Fault(kind="status", status=403, times=1))

    with pytest.raises(LoginRefused):
        home.client.read_log()


@pytest.mark.parametrize("kind", ["drop", "cut"])
def test_a_broken_connection_is_unavailable(home: Home, kind: str) -> None:
    # A dropped connection that was idle is opened again by the HTTP library.
    home.server.set_faults(Fault(kind=kind))  # type: ignore[arg-type]

    with pytest.raises(ServerUnavailable, match="home"):
        home.client.read_log()


def test_a_port_without_a_server_is_unavailable() -> None:
    nowhere = ServerSettings(name="home", url="http://127.0.0.1:9", username="a", password="b")  # noqa: S106
    with AdGuard(nowhere) as client, pytest.raises(ServerUnavailable, match="no connection to"):
        client.read_log()


def test_an_unknown_request_is_a_bad_answer(home: Home) -> None:
    home.server.set_faults(Fault(kind="status", status=404, times=1))

    with pytest.raises(BadAnswer, match="404 a fault; expected 200; check that http"):
        home.client.read_log()
