"""Requests that the pages refuse: from other sites, without a token, to other hosts, and by people
who may only read. The routes are those of the application, so a new one is covered."""

from collections.abc import Iterator
from pathlib import Path
from typing import Final

import pytest
from werkzeug.routing import Rule

from apps.dnslog.tests.rule_examples import draft
from apps.dnslog.tests.web_html import OURS, Markup
from apps.dnslog.tests.web_site import ORIGIN, VIEWER, Person, Site, open_site
from fairlane_dnslog.rules.rule_store import save_rule
from fairlane_dnslog.settings import ServerSettings
from fairlane_dnslog.web.request_guard import LARGEST_REQUEST_BYTES, SAFE_METHODS

# A change of these is not the business of an editor alone.
OPEN_TO_ALL: Final = {"login.log_in", "login.log_out", "login.change_password"}
VALUES: Final = {"rule": 1, "server": "home", "code": "zh", "name": "dark", "kind": "csv"}


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    # No server listens there: a request that is not refused would fail in another way.
    servers = (ServerSettings(name="home", url="http://127.0.0.1:9"),)
    with open_site(tmp_path_factory.mktemp("guard"), servers=servers) as opened:
        save_rule(opened.database, draft(), actor="anna", now=1.0)
        yield opened


def routes(site: Site, *, changing: bool) -> list[Rule]:
    return [
        rule
        for rule in site.app.url_map.iter_rules()
        if bool((rule.methods or set()) - SAFE_METHODS) == changing and rule.endpoint != "static"
    ]


def address(site: Site, rule: Rule) -> str:
    with site.app.test_request_context():
        values = {name: VALUES[name] for name in rule.arguments}
        return str(site.app.url_map.bind("localhost").build(rule.endpoint, values))


def state(site: Site) -> tuple[object, ...]:
    """Return everything that a request could have changed."""
    tables = ("rule", "account", "audit", "login_attempt", "server", "rules_version")
    with site.database.reading() as tx:
        return tuple(tuple(map(str, tx.rows(f"SELECT * FROM {table}"))) for table in tables)  # noqa: S608


def test_the_application_has_the_routes_that_change_something(site: Site) -> None:
    assert len(routes(site, changing=True)) >= 11
    assert len(routes(site, changing=False)) >= 15


@pytest.mark.parametrize(
    ("headers", "given", "status"),
    [
        ({"Origin": ORIGIN}, "", 403),
        ({"Origin": ORIGIN}, "wrong", 403),
        ({}, "", 403),
        ({"Origin": "https://evil.example"}, "right", 403),
        ({"Origin": "null"}, "right", 403),
        ({"Origin": f"{ORIGIN}.evil.example"}, "right", 403),
        ({"Origin": "http://localhost:81"}, "right", 403),
        ({"Origin": ORIGIN, "Sec-Fetch-Site": "cross-site"}, "right", 403),
        ({"Origin": ORIGIN, "Sec-Fetch-Site": "same-site"}, "right", 403),
        ({"Origin": "http://evil.example", "Host": "evil.example"}, "right", 400),
        ({"Origin": "http://localhost.evil", "Host": "localhost.evil"}, "right", 400),
    ],
    ids=lambda value: value if isinstance(value, str) else None,
)
def test_no_route_changes_anything_for_another_site(
    site: Site, headers: dict[str, str], given: str, status: int
) -> None:
    before = state(site)
    person = site.person()
    right = person.token()
    for rule in routes(site, changing=True):
        data = {"csrf": right if given == "right" else given, "enabled": "no", "minutes": "10"}
        answer = person.client.post(address(site, rule), data=data, headers=headers)
        assert answer.status_code == status, rule
        assert "</html>" in answer.text
    assert state(site) == before


def refused_changes(site: Site, person: Person) -> dict[str, int]:
    return {
        rule.endpoint: person.post(address(site, rule)).status_code
        for rule in routes(site, changing=True)
        if rule.endpoint not in OPEN_TO_ALL
    }


def test_a_viewer_changes_nothing(site: Site) -> None:
    before = state(site)
    assert set(refused_changes(site, site.person(VIEWER)).values()) == {403}
    assert state(site) == before


def test_a_stranger_changes_nothing(site: Site) -> None:
    before = state(site)
    assert set(refused_changes(site, site.stranger()).values()) == {401}
    assert state(site) == before


def test_a_stranger_reads_nothing(site: Site) -> None:
    open_pages = {"login.form", "health", "set_language", "set_theme"}
    for rule in routes(site, changing=False):
        answer = site.stranger().get(address(site, rule))
        is_api = rule.rule.startswith("/api/")
        if rule.endpoint not in open_pages:
            assert answer.status_code == (401 if is_api else 302), rule
        assert "Homework" not in answer.text


def test_no_page_can_be_read_by_another_host_name(site: Site) -> None:
    for rule in routes(site, changing=False):
        answer = site.person().get(address(site, rule), headers={"Host": "rebound.example"})
        assert answer.status_code == 400, rule
        assert "rebound.example" in answer.text
        assert "Homework" not in answer.text


@pytest.mark.parametrize(
    "host", ["127.0.0.1:8430", "[::1]:8430", "192.168.1.5", "localhost:1", "LOCALHOST"]
)
def test_addresses_and_our_own_names_are_answered(site: Site, host: str) -> None:
    assert site.stranger().get("/login", headers={"Host": host}).status_code == 200


def test_further_host_names_come_from_the_settings(tmp_path: Path) -> None:
    with open_site(tmp_path, hosts=("dns.home.example",)) as site:
        assert (
            site.stranger().get("/login", headers={"Host": "dns.home.example"}).status_code == 200
        )
        assert site.stranger().get("/login", headers={"Host": "home.example"}).status_code == 400


def test_every_answer_has_the_headers_that_forbid_foreign_content(site: Site) -> None:
    for path in ("/", "/login", "/nowhere", "/api/log", "/static/icon.svg"):
        with site.person().get(path) as answer:
            headers = answer.headers
        policy = headers["Content-Security-Policy"]
        assert "default-src 'none'" in policy
        assert "'unsafe-inline'" not in policy
        assert "frame-ancestors 'none'" in policy
        assert headers["X-Content-Type-Options"] == "nosniff"
    assert site.person().get("/").headers["Cache-Control"] == "no-store"


def test_no_page_has_a_script_or_a_style_of_its_own(site: Site) -> None:
    for rule in routes(site, changing=False):
        with site.person().get(address(site, rule)) as answer:
            markup = Markup(answer.get_data(as_text=True))
        assert markup.forbidden == [], rule
        assert markup.tags <= OURS


def test_a_request_has_a_bound(site: Site) -> None:
    answer = site.person().post("/rules/new", {"lines": "x" * LARGEST_REQUEST_BYTES})
    assert answer.status_code == 413
    assert "The request is too large." in answer.text


@pytest.mark.parametrize(
    ("path", "status"),
    [
        ("/nowhere", 404),
        ("/rules/99999", 404),
        ("/rules/99999999999999999999999", 404),
        ("/log?cursor=nonsense", 400),
        ("/api/log?cursor=nonsense", 400),
        ("/log?range=century", 400),
        ("/log?match=regex", 400),
        ("/log?blocked=perhaps", 400),
        ("/log?since=yesterday", 400),
        ("/log?domain=" + "x" * 301, 400),
        ("/log?since=0001-01-01T00:00&until=9999-12-31T23:59", 200),
        ("/log?domain=%00%ff%ed%a0%80&client=%00&type=%00&server=%00", 200),
        ("/?range=century&server=%00", 200),
        ("/rules?week=9999-W52", 200),
        ("/rules?week=0001-W01", 200),
        ("/audit?before=99999999999999999999999", 200),
        ("/audit?before=-1", 200),
        ("/audit?before=x", 200),
        ("/rules/new?preset=nonsense", 200),
    ],
)
def test_odd_addresses_have_a_clear_answer(site: Site, path: str, status: int) -> None:
    answer = site.person().get(path)
    assert answer.status_code == status
    if status >= 400:
        assert (
            ("error" in answer.get_json()) if path.startswith("/api") else "</html>" in answer.text
        )


def test_a_wrong_method_is_refused(site: Site) -> None:
    person = site.person()
    assert person.client.put("/rules/1", data={"csrf": person.token()}).status_code == 405
    assert (
        person.client.delete("/rules/1", headers={"X-CSRF-Token": person.token()}).status_code
        == 405
    )


def test_the_preferences_are_stored_in_the_browser(site: Site) -> None:
    person = site.person()
    assert '<html lang="en">' in person.get("/").text
    assert person.get("/language/zh?next=/rules").location == "/rules"
    assert person.get("/theme/dark?next=//evil.example").location == "/"
    assert '<html lang="zh-CN" data-theme="dark">' in person.get("/").text
    person.get("/theme/nonsense")
    person.get("/language/nonsense")
    assert '<html lang="zh-CN" data-theme="dark">' in person.get("/").text


def test_the_language_is_that_of_the_browser_without_a_choice(site: Site) -> None:
    answer = site.person().get("/", headers={"Accept-Language": "zh-TW,zh;q=0.9,en;q=0.5"})
    assert "概览" in answer.text
    answer = site.person().get("/", headers={"Accept-Language": "fr"})
    assert "Overview" in answer.text
