"""The login: passwords, the limit on wrong ones, sessions, and people who may only read."""

import threading
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any, Final

import pytest

from apps.dnslog.tests.databases import DIALECTS, postgres_server
from apps.dnslog.tests.web_site import EDITOR, PASSWORD, VIEWER, Site, open_site, password_hash
from fairlane_dnslog.database import Database, Transaction
from fairlane_dnslog.program import Program
from fairlane_dnslog.web import login_pages
from fairlane_dnslog.web.accounts import (
    Account,
    delete_account,
    hash_password,
    is_right_password,
    list_accounts,
    store_account,
)
from fairlane_dnslog.web.local_address import local_address
from fairlane_dnslog.web.login_limit import (
    FAILURES_OF_ALL,
    FAILURES_OF_AN_ADDRESS,
    TooManyAttempts,
    begin_attempt,
    limited_address,
    record_success,
)

NOW: Final = 1_800_000_000.0
WRONG: Final = "wrong"
NEW: Final = "battery staple"


@pytest.fixture
def site(tmp_path: Path) -> Iterator[Site]:
    with open_site(tmp_path) as opened:
        yield opened


def test_the_right_password_opens_the_page_that_was_wanted(site: Site) -> None:
    person = site.stranger()
    sent = person.get("/log?domain=example")
    assert sent.status_code == 302
    form = person.get(sent.location)
    assert 'name="next" value="/log?domain=example"' in form.text
    answer = person.post(
        "/login", {"name": EDITOR, "password": PASSWORD, "next": "/log?domain=example"}
    )
    assert (answer.status_code, answer.location) == (303, "/log?domain=example")
    assert "HttpOnly" in answer.headers["Set-Cookie"]
    assert "SameSite=Lax" in answer.headers["Set-Cookie"]
    assert person.get("/log").status_code == 200


def test_a_login_leads_to_our_own_pages_only(site: Site) -> None:
    person = site.stranger()
    login = {"name": EDITOR, "password": PASSWORD, "next": "//evil.example"}
    assert person.post("/login", login).location == "/"


@pytest.mark.parametrize(
    "wanted",
    ["//evil.example", "https://evil.example", "/\\evil.example", "/\t/evil.example", "", "log"],
)
def test_an_address_of_another_site_is_not_ours(wanted: str) -> None:
    assert local_address(wanted, otherwise="/") == "/"


def test_ten_wrong_passwords_are_refused_with_a_reason_and_a_time(site: Site) -> None:
    person = site.stranger()
    answers = [person.log_in(password=f"wrong {number}") for number in range(10)]
    assert [answer.status_code for answer in answers] == [401] * 5 + [429] * 5
    assert "The name or the password is wrong." in answers[0].text
    assert "Too many wrong passwords. Try again in 15 min." in answers[-1].text
    assert 0 < int(answers[-1].headers["Retry-After"]) <= 900
    assert person.log_in().status_code == 429, "the right password must wait as well"


def test_the_limit_holds_in_every_process_because_it_is_stored(site: Site) -> None:
    for _ in range(FAILURES_OF_AN_ADDRESS):
        failed(site.database, "127.0.0.1", now=time.time())
    other_process = Site(Program(site.program.settings, work=False))
    assert other_process.stranger().log_in().status_code == 429
    other_process.database.close()


def test_an_unknown_name_and_a_wrong_password_have_one_answer(site: Site) -> None:
    wrong = site.stranger().log_in(password=WRONG)
    unknown = site.stranger().log_in(name="nobody")
    assert (wrong.status_code, unknown.status_code) == (401, 401)
    assert "The name or the password is wrong." in unknown.text


def test_a_new_password_ends_the_other_sessions_of_the_account(site: Site) -> None:
    here, there = site.person(), site.person()
    changed = {"password": PASSWORD, "new": NEW, "again": NEW}
    assert here.post("/account", changed).status_code == 303
    assert "The password is changed." in here.get("/account").text
    assert there.get("/").status_code == 302
    assert there.post("/rules/pause", {"minutes": "10"}).status_code == 401
    assert site.stranger().log_in(password=NEW).status_code == 303
    rows = site.person().get("/audit").text
    assert "Password changed" in rows
    assert NEW not in rows


@pytest.mark.parametrize(
    ("fields", "status", "reason"),
    [
        ({"password": "wrong"}, 401, "The current password is wrong."),
        ({"again": "another one"}, 400, "The two new passwords are different."),
        ({"new": "short", "again": "short"}, 400, "it must have 8 to 200 characters"),
        ({"new": "x" * 201, "again": "x" * 201}, 400, "it must have 8 to 200 characters"),
    ],
)
def test_a_new_password_is_refused_with_a_reason(
    site: Site, fields: dict[str, str], status: int, reason: str
) -> None:
    person = site.person()
    good = {"password": PASSWORD, "new": NEW, "again": NEW}
    answer = person.post("/account", good | fields)
    assert answer.status_code == status
    assert reason in answer.text
    assert person.get("/").status_code == 200


def test_a_logout_ends_the_session(site: Site) -> None:
    person = site.person()
    cookie = person.client.get_cookie("dnslog_session")
    assert cookie is not None
    assert person.post("/logout").location == "/login"
    assert person.get("/").status_code == 302
    person.client.set_cookie("dnslog_session", cookie.value)  # as a copy of it
    assert person.get("/").status_code == 302


def test_a_login_lasts_thirty_days(site: Site) -> None:
    person = site.person()
    assert person.get("/").status_code == 200
    with site.database.transaction() as tx:
        tx.run("UPDATE login_session SET began_at = began_at - 30 * 86400")
    assert person.get("/").status_code == 302


@pytest.fixture(params=DIALECTS)
def raced(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Site]:
    changes: dict[str, Any] = {}
    if request.param == "postgres":
        changes["database"] = postgres_server().new_database()
    with open_site(tmp_path, **changes) as opened:
        yield opened


def other_change(
    site: Site, monkeypatch: pytest.MonkeyPatch, change: Callable[[Transaction], object]
) -> None:
    """Let another process change the accounts after the next comparison of a password."""

    def compare(account: Account | None, password: str) -> bool:
        is_right = is_right_password(account, password)
        with site.database.transaction() as tx:
            change(tx)
        return is_right

    monkeypatch.setattr(login_pages, "is_right_password", compare)


def test_a_login_with_the_old_password_does_not_survive_its_change(
    raced: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    new_password = partial(store_account, name=EDITOR, password=NEW)
    other_change(raced, monkeypatch, new_password)
    person = raced.stranger()
    assert person.log_in().status_code == 401
    assert person.get("/").status_code == 302


def test_a_change_of_the_own_password_undoes_no_change_by_the_administrator(
    raced: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    form = {"password": PASSWORD, "new": "third password", "again": "third password"}
    person = raced.person(VIEWER)
    other_change(raced, monkeypatch, partial(delete_account, name=VIEWER))
    assert person.post("/account", form).status_code == 401
    editor = raced.person()
    demoted = partial(store_account, name=EDITOR, password=NEW, role="viewer")
    other_change(raced, monkeypatch, demoted)
    assert editor.post("/account", form).status_code == 401
    assert editor.get("/").status_code == 302
    with raced.database.reading() as tx:
        assert [(one.name, one.role) for one in list_accounts(tx)] == [(EDITOR, "viewer")]


def test_an_answer_to_an_older_cookie_changes_no_cookie(site: Site) -> None:
    person = site.person()
    person.get("/rules/new")  # a form, which has a token
    for path in ("/", "/healthz", "/static/missing"):
        assert "Set-Cookie" not in person.get(path).headers
    with site.database.transaction() as tx:
        tx.run("DELETE FROM login_session")
    answer = person.get("/api/rules")
    assert (answer.status_code, "Set-Cookie" in answer.headers) == (401, False)


def test_a_deleted_account_has_no_session(site: Site) -> None:
    person = site.person(VIEWER)
    assert person.get("/").status_code == 200
    with site.database.transaction() as tx:
        tx.run("DELETE FROM account WHERE name = :name", name=VIEWER)
    assert person.get("/").status_code == 302


def test_a_forged_session_is_a_strangers(site: Site) -> None:
    person = site.stranger()
    person.client.set_cookie("dnslog_session", "eyJhY2NvdW50IjoiYW5uYSJ9.forged")
    assert person.get("/").status_code == 302


def test_visitors_read_without_a_login_where_the_setting_allows_it(tmp_path: Path) -> None:
    with open_site(tmp_path, visitors=True) as site:
        visitor = site.stranger()
        assert visitor.get("/log").status_code == 200
        assert visitor.get("/api/log").status_code == 200
        assert "Reading without a login" in visitor.get("/").text
        assert visitor.post("/rules/pause", {"minutes": "10"}).status_code == 403
        assert visitor.get("/rules/new").status_code == 403
        refused = visitor.get("/rules/new").text
        assert "Visitors may only read." in refused
        assert 'href="/login?next=/rules/new"' in refused
        viewer = site.person(VIEWER).get("/rules/new").text
        assert "This account may only read." in viewer
        assert "/login" not in viewer
        assert visitor.get("/account").status_code == 302
        assert site.program.current_rules().rules == ()


def test_a_page_without_accounts_tells_how_to_create_one(site: Site) -> None:
    assert "fairlane-dnslog password" not in site.stranger().get("/login").text
    with site.database.transaction() as tx:
        tx.run("DELETE FROM account")
    assert "fairlane-dnslog password" in site.stranger().get("/login").text


# the limit itself


def failed(database: Database, address: str, *, name: str = EDITOR, now: float = NOW) -> bool:
    """Try a wrong password; return whether it was allowed to be compared."""
    try:
        begin_attempt(database, address=address, name=name, now=now)
    except TooManyAttempts:
        return False
    return True


def test_attempts_at_the_same_time_do_not_exceed_the_limit(database: Database) -> None:
    allowed: list[bool] = []

    def attempt() -> None:
        allowed.append(failed(database, "203.0.113.5"))

    threads = [threading.Thread(target=attempt) for _ in range(12)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert (
        sorted(allowed) == [False] * (12 - FAILURES_OF_AN_ADDRESS) + [True] * FAILURES_OF_AN_ADDRESS
    )


def test_the_limit_ends_with_its_window(database: Database) -> None:
    for _ in range(FAILURES_OF_AN_ADDRESS):
        failed(database, "203.0.113.5")
    assert not failed(database, "203.0.113.5", now=NOW + 899)
    assert failed(database, "203.0.113.5", now=NOW + 901)


def test_many_addresses_have_a_limit_which_spares_known_ones(database: Database) -> None:
    known = begin_attempt(database, address="192.168.1.9", name=EDITOR, now=NOW - 86_400)
    record_success(database, known, address="192.168.1.9", name=EDITOR)
    for number in range(FAILURES_OF_ALL):
        assert failed(database, f"203.0.113.{number}")
    assert not failed(database, "203.0.113.200")
    assert failed(database, "192.168.1.9")


def test_a_network_of_ipv6_counts_as_one_address() -> None:
    assert limited_address("2001:db8::1") == limited_address("2001:db8::ffff")
    assert limited_address("::ffff:203.0.113.5") == "203.0.113.5"
    assert limited_address("fe80::1%eth0") == "fe80::/64"
    assert limited_address("unix") == "unix"


def test_a_login_works_on_postgresql(tmp_path: Path) -> None:
    with open_site(tmp_path, database=postgres_server().new_database()) as site:
        person = site.stranger()
        assert person.log_in(password=WRONG).status_code == 401
        assert person.log_in().status_code == 303
        assert EDITOR in person.get("/").text


def test_a_password_is_stored_as_a_salted_hash() -> None:
    stored = hash_password(PASSWORD)
    assert stored != password_hash()
    assert stored.startswith("scrypt:")
    assert PASSWORD not in stored


@pytest.mark.parametrize(
    ("address", "counted"),
    [("203.0.113.7:51234", "203.0.113.7"), ("[2001:db8::1]:443", "2001:db8::/64")],
)
def test_a_port_that_a_proxy_appends_is_not_counted(address: str, counted: str) -> None:
    assert limited_address(address) == counted


def test_behind_a_proxy_wrong_logins_are_counted_by_the_address_of_the_client(
    tmp_path: Path,
) -> None:
    def codes(site: Site, forged: str) -> list[int]:
        person = site.stranger()
        headers = {"X-Forwarded-For": f"{forged}, 192.0.2.7"}
        wrong = {"name": "nobody", "password": "wrong"}
        return [person.post("/login", wrong, headers=headers).status_code for _ in range(6)]

    with open_site(tmp_path, proxies=1) as site:
        assert codes(site, "198.51.100.1") == [401] * 5 + [429]
        assert codes(site, "198.51.100.2") == [429] * 6  # the client cannot choose its address
        assert site.stranger().log_in().status_code == 303  # another address
