"""The rules on the page: create, change, switch, delete, conflicts, presets and the week."""

import json
import re
import time
from collections.abc import Iterator
from datetime import UTC, date, datetime, timedelta
from html import unescape
from pathlib import Path
from typing import Any, Final
from zoneinfo import ZoneInfo

import pytest

from apps.dnslog.tests.databases import DIALECTS, postgres_server
from apps.dnslog.tests.query_entries import entry
from apps.dnslog.tests.rule_examples import custom, draft, stored
from apps.dnslog.tests.web_site import VIEWER, Person, Site, open_site
from fairlane_dnslog.pull_log import pause_server
from fairlane_dnslog.rules.audit import AuditRow, read_audit, record_audit
from fairlane_dnslog.rules.rule import MOST_RULES, Kind, Rule, RuleDraft
from fairlane_dnslog.rules.rule_store import save_rule
from fairlane_dnslog.rules.window import Window
from fairlane_dnslog.settings import ServerSettings
from fairlane_dnslog.stand_in import stand_in
from fairlane_dnslog.web.rule_form import form_of_rule
from fairlane_dnslog.web.rule_presets import PRESETS, preset_form
from fairlane_dnslog.web.week_view import MOST_LANES, WeekDay, week_days, week_of

BERLIN: Final = ZoneInfo("Europe/Berlin")
FORM: Final[dict[str, Any]] = {
    "name": "Homework",
    "enabled": "on",
    "kind": "block_services",
    "more_services": "youtube, tiktok",
    "clients": "192.168.1.20\nMia tablet\n",
    "times": "weekly",
    "weekdays": ["mon", "tue"],
    "start": "16:00",
    "end": "20:00",
    "timezone": "Europe/Berlin",
}


@pytest.fixture(params=DIALECTS)
def both(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Site]:
    changes: dict[str, Any] = {}
    if request.param == "postgres":
        changes["database"] = postgres_server().new_database()
    with open_site(tmp_path, **changes) as opened:
        yield opened


@pytest.fixture
def site(tmp_path: Path) -> Iterator[Site]:
    with open_site(tmp_path, timezone="Europe/Berlin") as opened:
        yield opened


@pytest.fixture(scope="module")
def empty(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    """Pages on which no rule can be saved by the tests that share them."""
    with open_site(tmp_path_factory.mktemp("empty")) as opened:
        yield opened


def only_rule(site: Site) -> Rule:
    [rule] = site.program.watch.reload().rules
    return rule


def audited(site: Site) -> list[AuditRow]:
    with site.database.reading() as tx:
        return read_audit(tx)


def form_fields(text: str) -> dict[str, str]:
    """Return the values of the text fields of a form."""
    found = re.findall(r'<input[^>]* name="([a-z_]+)" value="([^"]*)"', text)
    return {name: unescape(value) for name, value in found}


def revision(person: Person, path: str) -> str:
    return form_fields(person.get(path).text)["revision"]


def test_the_life_of_a_rule_is_recorded_in_the_audit_log(both: Site) -> None:
    person = both.person()
    assert person.post("/rules/new", FORM).status_code == 303
    rule = only_rule(both)
    assert (rule.name, rule.kind, rule.updated_by) == ("Homework", Kind.BLOCK_SERVICES, "anna")
    assert rule.detail.services == ("tiktok", "youtube")
    assert rule.detail.clients == ("192.168.1.20", "Mia tablet")
    assert rule.window == Window(
        weekdays=("mon", "tue"), start="16:00", end="20:00", timezone="Europe/Berlin"
    )
    listed = person.get("/rules").text
    assert "“Homework” is saved" in listed
    assert "Mon, Tue" in listed

    place = f"/rules/{rule.id}"
    changed = FORM | {"name": "Play", "start": "17:00", "revision": revision(person, place)}
    assert person.post(place, changed).status_code == 303
    assert (only_rule(both).name, only_rule(both).window.start) == ("Play", "17:00")
    switch = {"enabled": "no", "revision": only_rule(both).revision}
    assert person.post(f"{place}/enabled", switch).status_code == 303
    assert not only_rule(both).enabled
    assert "“Play” ends at once" in person.get(f"{place}/delete").text
    last = {"revision": revision(person, f"{place}/delete")}
    assert person.post(f"{place}/delete", last).status_code == 303
    assert both.program.watch.reload().rules == ()
    assert [row.action for row in audited(both)] == [
        "rule deleted", "rule disabled", "rule changed", "rule created",
    ]  # fmt: skip

    audit = person.get("/audit").text
    for action in ("Rule created", "Rule changed", "Rule disabled", "Rule deleted"):
        assert action in audit
    change = audit[audit.index("Rule changed") :]
    assert "<del><bdi>16:00</bdi></del><ins><bdi>17:00</bdi></ins>" in change
    assert "Monday" in audit
    assert "block_services" not in audit
    assert "<del><bdi>Homework</bdi></del><ins><bdi>Play</bdi></ins>" in change


def test_of_two_people_the_second_sees_the_first_change_before_it_saves(both: Site) -> None:
    first, second = both.person(), both.person()
    first.post("/rules/new", FORM)
    place = f"/rules/{only_rule(both).id}"
    old = revision(second, place)
    first.post(place, FORM | {"name": "Of the first", "revision": old})
    answer = second.post(place, FORM | {"name": "Of the second", "revision": old})
    assert answer.status_code == 409
    assert "This rule has changed in the meantime" in answer.text
    assert "Of the first" in answer.text
    assert form_fields(answer.text)["name"] == "Of the second", "the typed text is not lost"
    assert only_rule(both).name == "Of the first"
    again = FORM | form_fields(answer.text)
    assert second.post(place, again).status_code == 303
    assert only_rule(both).name == "Of the second"


def test_a_stale_switch_or_deletion_is_a_conflict_with_a_reason(site: Site) -> None:
    person = site.person()
    person.post("/rules/new", FORM)
    rule = only_rule(site)
    for path in ("enabled", "delete"):
        answer = person.post(f"/rules/{rule.id}/{path}", {"enabled": "no", "revision": "old"})
        assert answer.status_code == 409
        assert "The rule was changed by anna in the meantime." in answer.text
    assert only_rule(site) == rule


def test_a_rule_that_was_deleted_meanwhile_can_be_saved_as_a_new_one(site: Site) -> None:
    person = site.person()
    person.post("/rules/new", FORM)
    rule = only_rule(site)
    person.post(f"/rules/{rule.id}/delete", {"revision": rule.revision})
    answer = person.post(f"/rules/{rule.id}", FORM | {"revision": rule.revision})
    assert answer.status_code == 409
    assert "The rule was deleted in the meantime." in answer.text
    assert 'action="/rules/new"' in answer.text
    assert person.post("/rules/new", FORM | form_fields(answer.text)).status_code == 303
    assert only_rule(site).id != rule.id
    gone = person.post(f"/rules/{rule.id}/enabled", {"enabled": "yes", "revision": "x"})
    assert gone.status_code == 404


@pytest.mark.parametrize(
    ("fields", "reason"),
    [
        ({"name": ""}, "Give the rule a name of one line."),
        ({"name": "a\u202eb"}, "Give the rule a name of one line."),
        ({"more_services": ""}, "Choose at least one service"),
        ({"more_services": "ÄÖ"}, "Choose at least one service"),
        ({"clients": "a$b"}, "hardware address"),
        ({"kind": "nonsense"}, "Choose an action."),
        ({"kind": "custom_rules", "lines": ""}, "Give at least one filter rule"),
        ({"times": "sometimes"}, "Choose when the rule is in force."),
        ({"times": "once"}, "Give an end that is after the start."),
        ({"times": "once", "until_at": "soon"}, "Give an end that is after the start."),
        ({"start": "4 pm"}, "Give both times"),
        ({"end": ""}, "Give both times"),
        ({"end": "16:00"}, "Start and end are equal: both are 16:00."),
        ({"name": "x" * 200}, "The text has 200 characters, more than 100."),
        ({"start": "24:00"}, "24:00 can only be an end."),
        (
            {"times": "once", "from_at": "2027-01-01T10:00", "until_at": "2027-01-01T09:00"},
            "The end is not after the start.",
        ),
        ({"first_date": "1950-01-01"}, "1950-01-01 is not in the years 1970 to 2199."),
        ({"first_date": "2026-13-01"}, "Give a day such as"),
        ({"first_date": "2026-03-02", "last_date": "2026-03-01"}, "not before the first one"),
        ({"timezone": "Moon/Base"}, "Choose a time zone"),
        ({"timezone": "../../etc/passwd"}, "Choose a time zone"),
    ],
)
def test_a_wrong_field_is_named_and_nothing_is_lost(
    empty: Site, fields: dict[str, str], reason: str
) -> None:
    answer = empty.person().post("/rules/new", FORM | fields)
    assert answer.status_code == 400
    assert reason in answer.text
    if "clients" not in fields:
        assert "Mia tablet" in answer.text
    assert empty.program.watch.reload().rules == ()
    chinese = empty.person()
    chinese.get("/language/zh")
    text = chinese.post("/rules/new", FORM | fields).text
    assert "未保存。" in text
    assert 'class="small exact"' not in text, "the reason is Chinese as well"
    beside = re.findall(r'id="field-problem">(.*?)</span>', answer.text)
    assert len(beside) == 1, "the reason is beside its field"
    assert answer.text.count(beside[0]) == 2, "and at the head of the page"
    is_choice = fields.get("kind") == "nonsense" or fields.get("times") == "sometimes"
    assert answer.text.count('aria-invalid="true"') == (0 if is_choice else 1)


def test_the_form_of_a_rule_describes_the_same_rule() -> None:
    window = Window(
        weekdays=("fri",), start="22:00", end="06:00", first_date=date(2026, 9, 1),
        last_date=date(2027, 7, 1), timezone="Asia/Shanghai", from_at=1_800_000_000.0,
        until_at=1_800_086_400.0,
    )  # fmt: skip
    for given in (
        draft("Weekly", clients=("10.0.0.0/8",), window=window, servers=("home",)),
        draft("Once", window=Window(from_at=1_800_000_000.0, until_at=1_800_000_060.0)),
        draft("Always"),
        custom("Lines", "||a.example^", "@@||b.example^"),
    ):
        assert form_of_rule(given).draft() == given


def test_an_instant_in_a_repeated_hour_stays_when_its_text_does() -> None:
    second = datetime(2027, 10, 31, 2, 30, tzinfo=BERLIN, fold=1).timestamp()
    window = Window(timezone="Europe/Berlin", from_at=second - 7200, until_at=second)
    rule = RuleDraft(name="Night", kind=Kind.PROTECTION_OFF, window=window)
    form = form_of_rule(rule)
    form.until_at = form.until_at.removesuffix(":00")  # as browsers do
    assert form.draft(window).window == window
    form.until_at = "2027-10-31T02:31"
    changed = form.draft(window).window
    assert (changed.from_at, changed.until_at) == (window.from_at, second + 60)


def test_a_rule_of_a_removed_server_can_be_given_to_another(tmp_path: Path) -> None:
    home = ServerSettings(name="home", url="http://127.0.0.1:9")
    with open_site(tmp_path, servers=(home,)) as site:
        night = RuleDraft(name="Night", kind=Kind.PROTECTION_OFF, servers=("old",))
        rule = save_rule(site.database, night, actor="anna", now=time.time())
        person = site.person()
        assert "<bdi>old</bdi> (not in the settings)" in person.get(f"/rules/{rule.id}").text
        fields = {
            "name": "Night", "kind": "protection_off", "times": "always", "enabled": "on",
            "timezone": "UTC", "revision": rule.revision, "servers": "home",
        }  # fmt: skip
        assert person.post(f"/rules/{rule.id}", fields).status_code == 303
        assert only_rule(site).servers == ("home",)


def test_the_page_names_servers_that_the_rules_do_not_reach(tmp_path: Path) -> None:
    home = ServerSettings(name="home", url="http://127.0.0.1:9")
    with open_site(tmp_path, servers=(home,)) as site:
        words = "The rules do not reach home at present."
        assert words not in site.person().get("/rules").text
        with site.database.transaction() as tx:
            pause_server(tx, "home", reason="refused")
        assert words in site.person().get("/rules").text


def test_a_pause_of_protection_replaces_the_earlier_one(site: Site) -> None:
    person = site.person()
    begun = time.time()
    for minutes in ("30", "10", "60"):
        assert person.post("/rules/pause", {"minutes": minutes}).status_code == 303
    rule = only_rule(site)
    assert rule.name == "Protection off for 60 min"
    assert rule.kind is Kind.PROTECTION_OFF
    assert rule.window.until_at is not None
    assert begun + 3500 < rule.window.until_at < time.time() + 3601
    assert "In force" in person.get("/rules").text
    person.get("/language/zh")
    person.post("/rules/pause", {"minutes": "10"})
    assert only_rule(site).name == "关闭防护 10 分钟"
    assert person.post("/rules/pause", {"minutes": "99999"}).status_code == 400


def test_the_number_of_rules_has_a_bound(site: Site) -> None:
    with site.database.transaction() as tx:
        for number in range(MOST_RULES):
            tx.run(
                "INSERT INTO rule (name, kind) VALUES (:name, 'protection_on')", name=str(number)
            )
    answer = site.person().post("/rules/new", FORM)
    assert answer.status_code == 409
    assert "There are 200 rules already" in answer.text


def test_a_rule_that_plain_sql_broke_is_shown_and_can_be_deleted(site: Site) -> None:
    with site.database.transaction() as tx:
        tx.run("INSERT INTO rule (name, kind) VALUES ('By hand', 'nonsense')")
    site.program.watch.reload()
    person = site.person()
    assert "The rule “By hand” cannot be read" in person.get("/rules").text
    assert person.get("/rules/1").status_code == 409
    fields = form_fields(person.get("/rules/1/delete").text)
    switch = person.post("/rules/1/enabled", {"enabled": "yes", "revision": fields["revision"]})
    assert switch.status_code == 409
    assert "The rule cannot be changed" in switch.text
    assert person.post("/rules/1/delete", fields).status_code == 303
    assert site.program.watch.reload().broken == ()


@pytest.mark.parametrize("name", PRESETS)
def test_a_preset_is_a_rule_that_can_be_saved(site: Site, name: str) -> None:
    services = [("chatgpt", "ai"), ("roblox", "gaming"), ("youtube", "streaming")]
    with site.app.test_request_context():
        form = preset_form(name, services, "Europe/Berlin")
    saved = save_rule(site.database, form.draft(), actor="anna", now=1.0)
    assert saved.window.timezone == "Europe/Berlin"
    assert site.person().get(f"/rules/new?preset={name}").status_code == 200


def test_a_viewer_sees_rules_without_buttons(site: Site) -> None:
    site.person().post("/rules/new", FORM)
    viewer = site.person(VIEWER)
    text = viewer.get("/rules").text
    assert "Homework" in text
    assert "/enabled" not in text
    assert "New rule" not in text
    assert '<fieldset class="plain" disabled>' in viewer.get("/rules/1").text


def test_the_editor_offers_the_clients_of_the_log(site: Site) -> None:
    site.store([entry(0, client="192.168.1.20", client_name="phone"), entry(1, client="\u202ex")])
    text = site.person().get("/rules/new").text
    assert 'data-add-client="192.168.1.20" title="192.168.1.20"' in text
    assert text.count("data-add-client") == 1


def test_offered_clients_keep_their_order_and_have_names_that_rules_match(
    site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    names = frozenset({"Mia", "tablet", "costs $5"})
    monkeypatch.setattr(site.program, "client_names", lambda: names)

    def offered() -> list[str]:
        return re.findall('data-add-client="([^"]*)"', site.person().get("/rules/new").text)

    site.store([entry(n, client="10.0.0.1", client_name="Mia") for n in range(3)])
    site.store([entry(5, client="10.0.0.2", client_name="Mia"), entry(5, client="10.0.0.9")])
    site.store([entry(6, client="10.0.0.3", client_name="found-by-dhcp")])
    site.store([entry(7, client="10.0.0.4", client_name="costs $5")])
    site.store([entry(8, client="10.0.0.5", client_name="")])
    before = offered()
    assert before == ["10.0.0.3", "10.0.0.4", "10.0.0.5", "Mia", "tablet"]
    site.store([entry(100, client="10.0.0.9")])
    assert offered() == before


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({"times": "always"}, "“Homework” is saved and in force now."),
        ({"times": "once", "until_at": "2198-01-01T10:00"},
         "“Homework” is saved and in force now, until 2198-01-01 10:00."),
        ({"times": "once", "from_at": "2197-01-01T10:00", "until_at": "2198-01-01T10:00"},
         "“Homework” is saved. It starts at 2197-01-01 10:00."),
        ({"times": "once", "until_at": "2001-01-01T10:00"},
         "“Homework” is saved, but its time is over."),
    ],
)  # fmt: skip
def test_a_saved_rule_tells_when_it_is_in_force(
    site: Site, fields: dict[str, str], words: str
) -> None:
    person = site.person()
    assert person.post("/rules/new", FORM | fields).status_code == 303
    assert words in person.get("/rules").text


def test_a_rule_that_is_saved_disabled_says_so(site: Site) -> None:
    person = site.person()
    person.post("/rules/new", {name: value for name, value in FORM.items() if name != "enabled"})
    assert "“Homework” is saved, but disabled." in person.get("/rules").text


def test_the_audit_log_has_pages(site: Site) -> None:
    for number in range(60):
        save_rule(site.database, draft(f"Rule {number}"), actor="anna", now=float(number))
    person = site.person()
    first = person.get("/audit").text
    older = re.search(r'rel="next" href="([^"]*)"', first)
    assert older is not None
    second = person.get(older[1]).text
    names = re.findall(r"<bdi>(Rule \d+)</bdi> ", first + second)
    assert names == [f"Rule {number}" for number in range(59, -1, -1)]
    assert 'rel="next"' not in second


def test_cards_and_the_audit_log_have_the_names_of_services(tmp_path: Path) -> None:
    with stand_in() as server, open_site(tmp_path, servers=(server.settings(),)) as site:
        person = site.person()
        person.post("/rules/new", FORM)
        assert '<span class="chip"><bdi>YouTube</bdi></span>' in person.get("/rules").text
        audit = person.get("/audit").text
        assert "<ins><bdi>TikTok</bdi>\n<bdi>YouTube</bdi></ins>" in audit
        assert "tiktok" not in audit


# the words of the audit log


def audit_text(site: Site, language: str, action: str, detail: dict[str, Any]) -> str:
    """Return the audit log in a language, with one row."""
    with site.database.transaction() as tx:
        tx.run("DELETE FROM audit")
        record_audit(tx, at=0.0, actor="anna", action=action, subject="server home", detail=detail)
    person = site.person()
    person.get(f"/language/{language}")
    return person.get("/audit").text


def test_the_audit_log_has_local_times(site: Site) -> None:
    window = {"from_at": 1_800_000_000.0, "until_at": 1_800_003_600}
    detail = {"before": {"window": json.dumps({})}, "after": {"window": json.dumps(window)}}
    text = audit_text(site, "en", "rule changed", detail)
    assert "<ins><bdi>2027-01-15 09:00:00</bdi></ins>" in text
    assert "<ins><bdi>2027-01-15 10:00:00</bdi></ins>" in text
    paused = audit_text(site, "en", "protection paused", {"until": "2027-01-15T08:00:00+00:00"})
    assert "<bdi>2027-01-15 09:00:00</bdi>" in paused
    odd_values: list[Any] = ["soon", "9" * 400, [], {"a": 1}, 1e300]
    for odd in odd_values:
        assert audit_text(site, "en", "protection paused", {"until": odd})


def test_lines_that_left_a_server_are_marked_as_removed(site: Site) -> None:
    detail = {"lines_added": ["||a^"], "lines_removed": ["||b^"], "added": 1, "removed": 1}
    text = audit_text(site, "en", "rules applied", detail)
    assert re.findall(r"<(del|ins)><bdi>(.*?)</bdi>", text) == [("ins", "||a^"), ("del", "||b^")]


@pytest.mark.parametrize(
    ("action", "detail"),
    [
        ("account created", {"role": "viewer"}),
        ("account removed", {"role": "editor"}),
        ("rules applied", {"protection": "on"}),
        ("rules applied", {"protection": "off until 2027-01-15T08:00:00+00:00"}),
    ],
)
def test_the_audit_log_is_chinese_for_a_chinese_reader(
    site: Site, action: str, detail: dict[str, Any]
) -> None:
    text = audit_text(site, "zh", action, detail)
    table = re.sub("<[^>]*>", " ", text[text.index("<tbody>") : text.index("</tbody>")])
    assert set(re.findall("[a-z]{2,}", table)) == {"anna", "home"}


# the week


def shown(day: WeekDay) -> list[str]:
    return [stretch.times for stretch in day.stretches]


def days(
    *windows: Window, monday: date, zone: ZoneInfo = BERLIN, now: float = 0.0
) -> list[WeekDay]:
    rules = [stored(draft(f"Rule {n}", window=one), n) for n, one in enumerate(windows)]
    return week_days(rules, monday=monday, zone=zone, now=now)


def test_the_week_shows_the_parts_of_each_day() -> None:
    night = Window(weekdays=("fri",), start="22:00", end="06:30", timezone="Europe/Berlin")
    week = days(night, monday=date(2026, 11, 16))
    assert [shown(day) for day in week] == [
        [], [], [], [], ["22:00–24:00"], ["00:00–06:30"], [],
    ]  # fmt: skip


def test_the_week_is_right_on_the_days_on_which_clocks_change() -> None:
    window = Window(start="01:30", end="04:00", timezone="Europe/Berlin")
    for monday in (date(2026, 3, 23), date(2026, 10, 19)):  # the Sundays change the clock
        week = days(window, Window(timezone="Europe/Berlin"), monday=monday)
        assert [shown(day) for day in week] == [["01:30–04:00", "00:00–24:00"]] * 7
    skipped = Window(start="02:15", end="02:45", timezone="Europe/Berlin")
    assert shown(days(skipped, monday=date(2026, 3, 23))[5]) == ["02:15–02:45"]
    in_utc = Window(start="00:30", end="01:30", timezone="UTC")
    [before, *_, sunday] = days(in_utc, monday=date(2026, 3, 23))
    assert shown(before) == ["01:30–02:30"]
    assert shown(sunday) == ["01:30–03:30"], "an hour of this day does not exist on the clock"


def test_rules_that_do_not_overlap_share_a_lane() -> None:
    early = Window(start="08:00", end="10:00", timezone="Europe/Berlin")
    late = Window(start="10:00", end="12:00", timezone="Europe/Berlin")
    across = Window(start="09:00", end="11:00", timezone="Europe/Berlin")
    day = days(early, late, across, monday=date(2026, 11, 16))[0]
    assert [stretch.lane for stretch in day.stretches] == [0, 0, 1]
    crowded = days(*[across] * (MOST_LANES + 3), monday=date(2026, 11, 16))[0]
    assert (crowded.lanes, crowded.hidden) == (MOST_LANES, 3)


def test_the_present_is_marked_on_its_day() -> None:
    now = datetime(2026, 11, 18, 12, tzinfo=BERLIN).timestamp()
    week = days(monday=date(2026, 11, 16), now=now)
    assert [day.now for day in week] == [None, None, 50.0, None, None, None, None]


def test_a_week_is_chosen_by_its_number(site: Site) -> None:
    assert week_of("2026-W47", date(2026, 1, 1)) == date(2026, 11, 16)
    for nonsense in ("", "2026-W60", "9999-W52", "0001-W01", "x"):
        assert week_of(nonsense, date(2026, 11, 18)) == date(2026, 11, 16)
    site.person().post("/rules/new", FORM)
    text = site.person().get("/rules?week=2026-W47").text
    assert "2026-11-16 – 2026-11-22" in text
    assert "week=2026-W46" in text
    assert "week=2026-W48" in text
    this_week = datetime.now(UTC).date() - timedelta(days=1)
    assert str(this_week.year) in site.person().get("/rules").text
