"""The status page, its buttons, charts of the overview, and pages while the database is away."""

import re
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from apps.dnslog.tests.query_entries import NOON, NS, blocked, entry
from apps.dnslog.tests.web_site import ORIGIN, VIEWER, Person, Site, open_site
from fairlane_dnslog.database import open_database
from fairlane_dnslog.program import Program
from fairlane_dnslog.pull_log import pause_server, read_server, record_gap, record_pull
from fairlane_dnslog.rules.applied import record_failure
from fairlane_dnslog.rules.process_rows import read_processes
from fairlane_dnslog.settings import ServerSettings, Settings
from fairlane_dnslog.web.application import create_web
from fairlane_dnslog.web.log_begin import log_begin
from fairlane_dnslog.web.status_pages import read_status
from tests.support.eventually import eventually_sync
from tests.support.postgres import running_postgres

SERVERS = (
    ServerSettings(name="home", url="http://127.0.0.1:9"),
    ServerSettings(name="office", url="http://127.0.0.1:9"),
)


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    """The pages of a running queue, which executes nothing itself."""
    folder = tmp_path_factory.mktemp("status")
    with open_site(folder, is_started=True, servers=SERVERS) as opened:
        now = time.time()
        with opened.database.transaction() as tx:
            record_pull(tx, server="home", job="j1", started_at=now - 5, seconds=0.35,
                        state="succeeded", pages=2, seen=731, stored=512)  # fmt: skip
            record_pull(tx, server="office", job="j2", started_at=now - 3, seconds=1.0,
                        state="failed", error="the server answers with HTML")  # fmt: skip
            record_gap(tx, "home", from_ns=int(now - 7200) * NS, to_ns=int(now - 3600) * NS,
                       found_at=now, reason="AdGuard Home dropped its log")  # fmt: skip
        eventually_sync(lambda: is_complete(opened.program))
        yield opened


def is_complete(program: Program) -> bool:
    """Return whether the process leads and has recorded its rules."""
    with program.database.reading() as tx:
        return program.status().leader in [row.process for row in read_processes(tx)]


def test_the_status_shows_servers_pulls_gaps_schedules_and_processes(site: Site) -> None:
    text = site.person().get("/status").text
    for expected in (
        "home", "office", "Healthy", "Failing", "731", "512", "350 ms", "Comparison of the rules",
        "the server answers with HTML", "AdGuard Home dropped its log", "this page", "leads",
    ):  # fmt: skip
        assert expected in text, expected


def test_the_console_is_one_link_away_where_it_is_served(
    site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert "Fairlane console" not in site.person().get("/status").text
    monkeypatch.setattr(site.program, "console_address", "/queue/")
    assert '<a class="button" href="/queue/">' in site.person().get("/status").text
    assert "/queue/" not in site.person(VIEWER).get("/status").text, "the console refuses viewers"


def test_the_interval_of_a_server_is_changed_in_all_processes(site: Site) -> None:
    person = site.person()
    answer = person.post("/status/servers/office/interval", {"seconds": "42"})
    assert answer.status_code == 303
    assert "The interval of office is changed" in person.get("/status").text
    schedules = site.program.app.sync.schedules.list()
    assert schedules["pull-office"].every_seconds == 42
    assert schedules["pull-home"].every_seconds == 10
    for wrong in ("", "0", "-1", "nan", "inf", "1e9", "ten"):
        refused = person.post("/status/servers/office/interval", {"seconds": wrong})
        assert refused.status_code == 400
        assert "it must be a number of seconds from 1 to 3600" in refused.text


def test_a_pull_can_be_submitted_and_a_paused_server_resumed(site: Site) -> None:
    person = site.person()
    assert person.post("/status/servers/home/pull").status_code == 303
    assert "A pull of home is submitted." in person.get("/status").text
    with site.database.transaction() as tx:
        pause_server(tx, "home", reason="401: the login was refused")
    text = person.get("/status").text
    assert "401: the login was refused" in text
    assert "Resume" in text
    assert person.post("/status/servers/home/resume").status_code == 303
    with site.database.reading() as tx:
        assert read_server(tx, "home").paused_reason is None
    actions = person.get("/audit").text
    for action in ("Pull submitted", "Server resumed", "Pull interval changed"):
        assert action in actions
    for verb in ("pull", "resume"):
        assert person.post(f"/status/servers/nowhere/{verb}").status_code == 404


def notices(text: str) -> list[str]:
    """Return the notices of a page as texts without markup."""
    found = re.findall(r'<div class="notice [a-z]+".*?</svg>\s*<div>(.*?)</div></div>', text, re.S)
    return [" ".join(re.sub("<[^>]*>", "", one).split()) for one in found]


def test_a_server_in_trouble_is_named_on_the_overview_and_the_log(tmp_path: Path) -> None:
    now = time.time()
    servers = (*SERVERS, ServerSettings(name="attic", url="http://127.0.0.1:9"))
    with open_site(tmp_path, servers=servers) as site:
        person = site.person()
        assert notices(person.get("/").text) == notices(person.get("/log").text) == []
        with site.database.transaction() as tx:
            record_pull(tx, server="home", job=None, started_at=now - 3600, seconds=1.0,
                        state="succeeded")  # fmt: skip
            record_pull(tx, server="office", job=None, started_at=now, seconds=1.0,
                        state="failed", error="no route to <host>")  # fmt: skip
            record_pull(tx, server="attic", job=None, started_at=now, seconds=1.0,
                        state="refused", error="401")  # fmt: skip
            pause_server(tx, "attic", reason="401")
        for path in ("/", "/log"):
            text = person.get(path).text
            late, failing, paused = notices(text)
            assert late.startswith("home was last pulled 60 min ago")
            assert failing.startswith("The last pull of office failed")
            assert "no route to &lt;host&gt;" in failing
            assert paused.startswith("attic is paused, because it refused the login.")
            assert text.count('<a class="underlined" href="/status">Show the status</a>') == 3


def test_the_lag_outlives_many_failed_pulls(tmp_path: Path) -> None:
    failure: dict[str, Any] = {"state": "failed", "error_code": "unavailable", "error": "no answer"}
    with open_site(tmp_path, is_started=True, servers=SERVERS[:1]) as site:
        with site.database.transaction() as tx:
            pull: dict[str, Any] = {"server": "home", "job": None, "seconds": 1.0}
            record_pull(tx, **pull, started_at=1000.0, state="succeeded")
            for number in range(60):
                record_pull(tx, **pull, started_at=2000.0 + number, **failure)
        with site.app.test_request_context():
            [home] = read_status(10_000.0).servers
        assert home.lag_seconds == 9000.0
        chinese = site.person()
        chinese.client.set_cookie("dnslog_language", "zh")
        assert "服务器没有响应。" in chinese.get("/status").text


def test_a_server_with_a_longer_interval_is_not_late(site: Site) -> None:
    with site.database.transaction() as tx:
        record_pull(tx, server="home", job="j3", started_at=time.time() - 600, seconds=1.0,
                    state="succeeded")  # fmt: skip
    person = site.person()
    assert "home was last pulled" in person.get("/").text
    assert '<span class="badge warn">Late</span>' in person.get("/status").text
    person.post("/status/servers/home/interval", {"seconds": "300"})
    assert "home was last pulled" not in person.get("/").text
    assert "Late" not in person.get("/status").text
    person.post("/status/servers/home/interval", {"seconds": "10"})


def test_a_paused_server_prints_its_reason_once(tmp_path: Path) -> None:
    with open_site(tmp_path, is_started=True, servers=SERVERS) as site:
        with site.database.transaction() as tx:
            pause_server(tx, "home", reason="the login was refused (401)")
            record_failure(tx, "home", error="the login was refused (401)", now=time.time())
        assert site.person().get("/status").text.count("the login was refused (401)") == 1


def test_the_state_is_available_as_json(site: Site) -> None:
    person = site.person()
    found = person.get("/api/status").get_json()
    assert [server["name"] for server in found["servers"]] == ["home", "office"]
    assert found["fairlane"]["leader"] == found["processes"][0]["process"]
    health = site.stranger().get("/healthz").get_json()
    assert health["ready"] is True
    assert set(health["servers"]) == {"home", "office"}


# the overview


def chart(person: Person, query: str = "") -> dict[str, object]:
    found: dict[str, object] = person.get(f"/api/charts?range=day{query}").get_json()
    return found


def test_the_overview_counts_the_queries_of_its_range_and_server(tmp_path: Path) -> None:
    now = time.time()
    second = now - 1_773_576_000  # entries count from a noon in March
    with open_site(tmp_path, servers=SERVERS, timezone="Asia/Shanghai") as site:
        site.store([entry(second - n * 60, f"a{n % 3}.example") for n in range(30)])
        site.store([blocked(second - n * 60) for n in range(10)], server="office")
        person = site.person()
        both, office = chart(person), chart(person, "&server=office")
        assert (both["queries"], both["blocked"]) == (40, 10)
        assert (office["queries"], office["blocked"]) == (10, 10)
        text = person.get("/").text
        assert "25.0%" in text
        assert "+08:00" in person.get("/log").text
        assert 'data-zone="Asia/Shanghai"' in text
        assert "ads.example.com" in text
        assert "ads.example.com" not in person.get("/?server=home").text
        assert "No queries in this time range" in person.get("/?server=nowhere").text
        points = both["points"]
        assert isinstance(points, list)
        assert 0 < len(points) <= 180


def test_time_before_the_log_is_not_counted(tmp_path: Path) -> None:
    second = time.time() - NOON
    with open_site(tmp_path) as site:
        site.store([entry(second - n * 60) for n in range(120)])
        person = site.person()
        for name in ("day", "week", "month", "year"):
            text = person.get(f"/?range={name}").text
            average = re.search(r"Per minute, on average</dt><dd>([0-9.]+)</dd>", text)
            assert average is not None
            assert 0.9 <= float(average[1]) <= 1.1, name
            points = person.get(f"/api/charts?range={name}").get_json()["points"]
            known = [point for point in points if point[1] is not None]
            assert points[0][1:] == [None, None, None], name
            assert known == points[-len(known) :], "nothing is known before the first row"
            assert all(0.8 <= point[1] <= 1.3 for point in known), name
        empty = person.get("/api/charts?server=nowhere").get_json()["points"]
        assert {tuple(point[1:]) for point in empty} == {(None, None, None)}


def test_the_log_begins_with_its_first_day_after_retention(tmp_path: Path) -> None:
    with open_site(tmp_path) as site:
        site.store([entry(90), entry(40 * 86_400.0)])
        with site.database.reading() as tx:
            assert log_begin(tx) == NOON + 60
            assert log_begin(tx, "home") == NOON + 60
            assert log_begin(tx, "nowhere") is None
        with site.database.transaction() as tx:
            tx.run("DELETE FROM rollup WHERE grain = 'minute' AND start < :end", end=NOON + 3600)
        with site.database.reading() as tx:
            assert log_begin(tx) == NOON
        with site.database.transaction() as tx:
            tx.run("DELETE FROM rollup WHERE grain = 'hour' AND start < :end", end=NOON + 3600)
        with site.database.reading() as tx:
            assert log_begin(tx) == NOON - 12 * 3600


# the database is away


def test_pages_answer_503_while_the_database_is_away_and_recover(tmp_path: Path) -> None:
    with running_postgres() as server:
        dsn = server.new_database()
        with open_site(tmp_path, database=dsn) as site:
            person = site.person()
            assert person.get("/").status_code == 200
            server.stop()
            for path in ("/", "/log", "/rules", "/audit", "/login", "/log/export.csv"):
                answer = person.get(path)
                assert answer.status_code == 503, path
                assert "The database does not answer." in answer.text
                assert dsn.rpartition("/")[0] not in answer.text
            assert person.get("/api/log").status_code == 503
            assert "error" in person.get("/api/log").get_json()
            assert person.get("/healthz").status_code == 503
            assert person.post("/rules/pause", {"minutes": "10"}).status_code == 503
            server.start()
            eventually_sync(lambda: person.get("/").status_code == 200)


def test_a_process_that_has_never_seen_its_database_still_has_a_style(tmp_path: Path) -> None:
    settings = Settings(
        folder=tmp_path, database="postgresql://nobody@127.0.0.1:9/nothing?connect_timeout=2"
    )
    person = Person(create_web(Program(settings, work=False)))
    answer = person.get("/")
    assert answer.status_code == 503
    assert "The database does not answer." in answer.text
    assert person.client.post("/login", headers={"Origin": ORIGIN}).status_code == 503
    with person.get("/static/icon.svg") as icon:
        assert icon.status_code == 200


def test_a_damaged_database_is_an_error_without_its_path(tmp_path: Path) -> None:
    with open_site(tmp_path) as site:
        person = site.person()
        site.database.close()
        file = tmp_path / "dnslog.db"
        file.write_bytes(b"not a database" * 1000)
        site.program.database = open_database(f"sqlite:///{file}")
        answer = person.get("/log")
        assert answer.status_code == 500
        assert "The database cannot be used." in answer.text
        assert str(tmp_path) not in answer.text
        site.program.database.close()
