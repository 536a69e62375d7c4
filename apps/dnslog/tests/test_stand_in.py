"""The stand-in for AdGuard Home: its documented API, bounds, lock-out and protection."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from apps.dnslog.tests.adguard_servers import Home, TestClock, running_home
from fairlane_dnslog.stand_in import Options, read_journal
from fairlane_dnslog.timestamps import SECOND_NS, parse_time_ns

RIGHT = ("admin", Options().password)
WRONG = ("admin", "wrong")


class Api:
    """Plain requests to a stand-in, without our own client."""

    def __init__(self, home: Home) -> None:
        self._http = httpx.Client(base_url=f"{home.server.url}/control", auth=RIGHT)

    def get(self, path: str, **query: Any) -> Any:
        return self._http.get(path, params=query).raise_for_status().json()

    def send(self, method: str, path: str, body: object) -> httpx.Response:
        return self._http.request(method, path, json=body)

    def status_of(self, path: str, auth: tuple[str, str] | None = RIGHT) -> int:
        return self._http.get(path, auth=auth).status_code

    def pages(self, limit: int, **query: Any) -> Iterator[list[dict[str, Any]]]:
        """Read the log back to its end, as its documentation says."""
        older_than = ""
        while True:
            page = self.get("/querylog", limit=limit, older_than=older_than, **query)
            yield page["data"]
            older_than = page["oldest"]
            if not older_than:
                return

    def rows(self, limit: int = 500, **query: Any) -> list[dict[str, Any]]:
        return [row for page in self.pages(limit, **query) for row in page]

    def close(self) -> None:
        self._http.close()


@pytest.fixture
def home(request: pytest.FixtureRequest) -> Iterator[Home]:
    with running_home(getattr(request, "param", None)) as running:
        yield running


@pytest.fixture
def api(home: Home) -> Iterator[Api]:
    requests = Api(home)
    yield requests
    requests.close()


def test_a_row_has_the_documented_fields(home: Home, api: Api) -> None:
    home.log(1, domain="www.example.org", client="192.168.178.31", elapsed_us=1234)

    [row] = api.rows()

    assert row["question"] == {"class": "IN", "name": "www.example.org", "type": "A"}
    assert (row["client"], row["client_info"]["name"]) == ("192.168.178.31", "Mia tablet")
    assert row["elapsedMs"] == "1.234"
    assert row["reason"] == "NotFilteredNotFound"
    assert (row["status"], row["upstream"], row["cached"]) == ("NOERROR", "", False)
    assert parse_time_ns(row["time"]) == home.clock.at_ns


@pytest.mark.parametrize("home", [Options(buffer_rows=7)], indirect=True)
def test_the_pages_have_every_row_once_newest_first(home: Home, api: Api) -> None:
    logged = home.log(25)
    for limit in (1, 6, 7, 8, 25, 500):
        pages = list(api.pages(limit))

        times = [parse_time_ns(row["time"]) for page in pages for row in page]
        assert times == [query.at_ns for query in reversed(logged)]
        assert all(len(page) <= limit for page in pages)


def test_a_search_finds_domains_and_clients_and_a_status_the_verdicts(home: Home, api: Api) -> None:
    api.send("POST", "/filtering/set_rules", {"rules": ["||ads.example^"]})
    home.log(1, domain="shop.example", client="192.168.178.31")
    home.log(1, domain="img.ads.example", client="192.168.178.21")

    def names(**query: Any) -> list[str]:
        return [row["question"]["name"] for row in api.rows(**query)]

    assert names(search="SHOP") == ["shop.example"]
    assert names(search="mia tab") == ["shop.example"]
    assert names(search='"shop"') == []
    assert names(response_status="blocked") == ["img.ads.example"]
    assert names(response_status="processed") == ["shop.example"]
    assert api.status_of("/querylog?response_status=unheard-of") == 400


def test_an_old_time_that_is_in_no_row_finds_nothing_in_the_files() -> None:
    with running_home(Options(buffer_rows=2)) as home:
        logged = home.log(10, seconds_apart=1.0)
        between = home.client.read_log(older_than="2026-11-18T12:00:03.5Z")
        exact = home.client.read_log(older_than="2026-11-18T12:00:04Z")

    assert between.entries == ()
    assert [entry.at_ns for entry in exact.entries] == [row.at_ns for row in logged[2::-1]]


@pytest.mark.parametrize("home", [Options(most_rows=50)], indirect=True)
def test_the_log_is_bounded_and_drops_its_oldest_rows(home: Home, api: Api) -> None:
    logged = home.log(170)

    counts = httpx.get(f"{home.server.url}/stand-in/counts").json()

    assert counts == {"rows": 50, "logged": 170}
    times = [parse_time_ns(row["time"]) for row in api.rows(limit=20)]
    assert times == [query.at_ns for query in reversed(logged[-50:])]


def test_the_journal_has_every_query_and_every_loss(tmp_path: Path) -> None:
    options = Options(most_rows=20, journal=tmp_path / "journal.jsonl", rate=40.0)
    with running_home(options) as home:
        home.clock.advance(2)
        home.server.state.advance()
        requests = Api(home)
        seen = [parse_time_ns(row["time"]) for row in requests.rows()]
        requests.close()
        last = home.server.state.log.last_number

    contents = read_journal(tmp_path / "journal.jsonl")

    assert [query.number for query in contents.queries] == list(range(1, last + 1))
    assert contents.first_in_log == last - 20 + 1
    assert sorted(seen) == sorted(query.at_ns for query in contents.queries[-20:])


@pytest.mark.parametrize("keeps_log", [True, False])
def test_a_restart_continues_the_log_or_records_its_loss(tmp_path: Path, keeps_log: bool) -> None:
    options = Options(journal=tmp_path / "journal.jsonl", keeps_log=keeps_log)
    clock = TestClock()
    with running_home(options, clock=clock) as home:
        home.log(5)
    with running_home(options, clock=clock) as home:
        home.log(2)
        rows = home.client.read_log().entries

    contents = read_journal(tmp_path / "journal.jsonl")

    assert len(rows) == (7 if keeps_log else 2)
    assert [query.number for query in contents.queries] == [1, 2, 3, 4, 5, 6, 7]
    assert contents.first_in_log == (1 if keeps_log else 6)


def test_five_wrong_logins_lock_the_right_one_out_for_fifteen_minutes(home: Home, api: Api) -> None:
    assert [api.status_of("/status", WRONG) for _ in range(5)] == [401] * 5

    assert api.status_of("/status") == 401
    home.clock.advance(899)
    assert api.status_of("/status") == 401
    home.clock.advance(2)
    assert api.status_of("/status") == 200


def test_four_wrong_logins_do_not_lock_an_address_out(api: Api) -> None:
    for _ in range(3):
        assert [api.status_of("/status", WRONG) for _ in range(4)] == [401] * 4
        assert api.status_of("/status") == 200  # and the count begins again


def test_a_request_without_a_login_is_refused_and_is_no_attempt(api: Api) -> None:
    assert [api.status_of("/querylog", None) for _ in range(10)] == [401] * 10
    assert api.status_of("/querylog") == 200


@pytest.mark.parametrize("home", [Options(rate=50.0)], indirect=True)
def test_disabled_protection_blocks_nothing_and_ends_by_itself(home: Home, api: Api) -> None:
    services = {"ids": ["youtube", "tiktok"], "schedule": {"time_zone": "UTC"}}
    assert api.send("PUT", "/blocked_services/update", services).status_code == 200
    home.clock.advance(60)
    off_at = home.clock.at_ns
    api.send("POST", "/protection", {"enabled": False, "duration": 60_000}).raise_for_status()
    assert api.get("/status")["protection_disabled_duration"] == 60_000
    home.clock.advance(59)
    assert not api.get("/status")["protection_enabled"]
    home.clock.advance(61)

    status = api.get("/status")

    assert (status["protection_enabled"], status["protection_disabled_duration"]) == (True, 0)
    blocked = [
        (parse_time_ns(row["time"]) - off_at) / SECOND_NS
        for row in api.rows()
        if row["reason"].startswith("Filtered")
    ]
    assert [second for second in blocked if 0 <= second < 60] == []
    assert min(blocked) < 0 < 60 < max(blocked)


def test_protection_without_a_duration_stays_off_until_it_is_switched_on(
    home: Home, api: Api
) -> None:
    def is_blocked() -> bool:
        reason: str = api.get("/filtering/check_host", name="ads.example")["reason"]
        return reason == "FilteredBlackList"

    api.send("POST", "/filtering/set_rules", {"rules": ["||ads.example^"]})
    assert is_blocked()
    api.send("POST", "/protection", {"enabled": False})
    home.clock.advance(86_400)
    assert not is_blocked()
    assert not api.get("/status")["protection_enabled"]
    api.send("POST", "/protection", {"enabled": True})
    assert is_blocked()
    assert api.send("POST", "/protection", {"enabled": True, "duration": 5}).status_code == 400


def test_rules_are_replaced_as_a_whole_and_hold_for_their_clients(api: Api) -> None:
    def reason(name: str, client: str = "192.168.178.21") -> str:
        found: str = api.get("/filtering/check_host", name=name, client=client)["reason"]
        return found

    api.send("POST", "/filtering/set_rules", {"rules": ["||a.example^"]})
    rules = ["||b.example^$client='Mia tablet'", "||c.example^", "@@||d.c.example^", "! a note"]
    api.send("POST", "/filtering/set_rules", {"rules": rules})

    assert api.get("/filtering/status")["user_rules"] == rules
    assert reason("a.example") == "NotFilteredNotFound"
    assert reason("x.b.example") == "NotFilteredNotFound"
    assert reason("x.b.example", "192.168.178.31") == "FilteredBlackList"
    assert reason("c.example") == "FilteredBlackList"
    assert reason("d.c.example") == "NotFilteredWhiteList"


def test_blocked_services_are_checked_after_the_rules(api: Api) -> None:
    api.send("PUT", "/blocked_services/update", {"ids": ["chatgpt"], "schedule": {}})
    found = api.get("/filtering/check_host", name="api.openai.com")
    assert (found["reason"], found["service_name"]) == ("FilteredBlockedService", "chatgpt")
    assert api.get("/blocked_services/get")["ids"] == ["chatgpt"]

    api.send("POST", "/filtering/set_rules", {"rules": ["@@||openai.com^"]})

    found = api.get("/filtering/check_host", name="api.openai.com")
    assert found["reason"] == "NotFilteredWhiteList"


@pytest.mark.parametrize(
    ("method", "path", "body", "status"),
    [
        ("GET", "/unheard-of", None, 404),
        ("POST", "/querylog", None, 405),
        ("POST", "/filtering/set_rules", {"rules": "one"}, 400),
        ("POST", "/protection", {"enabled": "no"}, 400),
        ("PUT", "/blocked_services/update", {"ids": ["unheard-of"]}, 422),
    ],
)
def test_a_wrong_request_is_refused(
    api: Api, method: str, path: str, body: object, status: int
) -> None:
    assert api.send(method, path, body).status_code == status
