"""The log: filters, pages by cursor and exports; names from the network are text everywhere."""

import csv
import io
import json
import re
import time
from collections.abc import Iterator
from html import unescape
from pathlib import Path
from typing import Final

import pytest

from apps.dnslog.tests.databases import DIALECTS, postgres_server
from apps.dnslog.tests.query_entries import NS, blocked, entry
from apps.dnslog.tests.rule_examples import draft
from apps.dnslog.tests.test_web_guard import address, routes
from apps.dnslog.tests.web_html import OURS, Markup
from apps.dnslog.tests.web_site import Person, Site, open_site
from fairlane_dnslog.entries import QueryEntry
from fairlane_dnslog.pull_log import record_gap, record_pull
from fairlane_dnslog.rules.audit import record_audit
from fairlane_dnslog.rules.rule_store import save_rule
from fairlane_dnslog.web.log_pages import PAGE_ROWS
from fairlane_dnslog.web.visible_text import decoded, domain_name, visible

ROWS: Final = 250


@pytest.fixture(scope="module", params=DIALECTS)
def log(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    """A log of 250 rows of two clients; some have the same instant."""
    changes = {}
    if request.param == "postgres":
        changes["database"] = postgres_server().new_database()
    with open_site(tmp_path_factory.mktemp("log"), is_started=False, **changes) as site:
        rows = [entry(number // 3, f"host{number}.example.com") for number in range(ROWS - 50)]
        rows += [
            blocked(number, f"ads{number}.example.net", client="192.168.1.20", client_name="phone",
                    qtype="AAAA", rule="||example.net^", service="")
            for number in range(50)
        ]  # fmt: skip
        site.store(rows)
        yield site


def domains(text: str) -> list[str]:
    """Return the domains of the rows of a page."""
    return re.findall(r'<td class="domain"><a [^>]*><bdi>(.*?)</bdi>', text)


def next_page(text: str) -> str | None:
    found = re.search(r'rel="next" href="([^"]*)"', text)
    return unescape(found[1]) if found else None


def test_the_pages_of_the_log_have_every_row_once_newest_first(log: Site) -> None:
    person = log.person()
    place: str | None = "/log"
    seen: list[list[str]] = []
    while place is not None:
        answer = person.get(place)
        assert answer.status_code == 200
        seen.append(domains(answer.text))
        place = next_page(answer.text)
    assert [len(page) for page in seen] == [PAGE_ROWS, PAGE_ROWS, 50]
    flat = [domain for page in seen for domain in page]
    assert len(set(flat)) == len(flat) == ROWS
    assert flat[0] == "host199.example.com"


def test_a_page_of_the_log_does_not_move_when_rows_arrive(log: Site) -> None:
    person = log.person()
    older = next_page(person.get("/log?domain=host").text)
    assert older is not None
    before = domains(person.get(older).text)
    log.store([entry(500, "newer-row.example.org")])
    assert domains(person.get(older).text) == before


@pytest.mark.parametrize(
    ("query", "count"),
    [
        ("domain=host7.example", 1),
        ("domain=HOST7.EXAMPLE.COM&match=exact", 1),
        ("domain=example.net&match=subdomains", 50),
        ("domain=ample.net&match=subdomains", 0),
        ("client=phone", 50),
        ("client=192.168.1.20&type=aaaa", 50),
        ("client=192.168.1.20&type=A", 0),
        ("blocked=yes", 50),
        ("blocked=yes&domain=host", 0),
        ("blocked=no&domain=ads", 0),
        ("server=other", 0),
        ("server=home&domain=ads", 50),
        ("since=2026-03-15T12:00:40&until=2026-03-15T12:00:45&domain=ads", 5),
        ("range=between&since=2026-03-15T12:00:40%2B00:00&domain=ads", 10),
        ("range=hour", 0),
        ("domain=100%25_", 0),
    ],
)
def test_filters_choose_rows(log: Site, query: str, count: int) -> None:
    answer = log.person().get(f"/log?{query}")
    assert answer.status_code == 200
    assert len(domains(answer.text)) == count
    if count == 0:
        assert "No query matches this filter." in answer.text
    found = log.person().get(f"/api/log?{query}").get_json()["rows"]
    assert len(found) == count


def test_each_value_of_a_row_is_a_link_to_its_filter(log: Site) -> None:
    text = log.person().get("/log?domain=ads49").text
    links = [unescape(link) for link in re.findall(r'href="(/log\?[^"]*)"', text)]
    row = [link for link in links if "ads49" in link]
    assert any("client=192.168.1.20" in link for link in row)
    assert any("domain=ads49.example.net&match=exact" in link for link in row)
    assert any("type=AAAA" in link for link in row)
    assert any("blocked=yes" in link for link in row)


def test_the_exports_have_all_rows_of_the_filter(log: Site) -> None:
    answer = log.person().get("/log/export.csv?domain=ads")
    name = answer.headers["Content-Disposition"]
    assert re.fullmatch(r'attachment; filename="dns-log-\d{4}-\d\d-\d\d\.csv"', name)
    assert answer.mimetype == "text/csv"
    rows = list(csv.DictReader(io.StringIO(answer.data.decode("utf-8-sig"))))
    assert [row["domain"] for row in rows] == [f"ads{n}.example.net" for n in range(49, -1, -1)]
    assert rows[0]["time"] == f"{entry(49).at_ns}", "the raw time has all its digits"
    assert (rows[0]["blocked"], rows[0]["client_name"]) == ("1", "phone")
    found = json.loads(log.person().get("/log/export.json?domain=ads").data)
    assert [row["domain"] for row in found] == [row["domain"] for row in rows]
    assert json.loads(log.person().get("/log/export.json?domain=nowhere").data) == []


# hostile names

LONG: Final = ".".join(["a" * 61] * 4) + ".examp"  # 253 bytes
HOSTILE: Final = {
    "markup": "<script>alert(1)</script>.example",
    "attribute": '"><img src=x onerror=alert(2)>.example',
    "template": "{{7*191}}{% raw %}.example",
    "control": "a\x00b\x07c\x1b[31md\ne.example",
    "direction": "\u202egpj.exe\u202c.example",
    "blank": "\u3164\u200b\u00a0.example",
    "long": LONG,
    "punycode": "xn--bcher-kva.example",
    "broken punycode": "xn--\u00fc-99999999.example",
    "imitation": "xn--evil.example-.example",
    "formula": "=HYPERLINK(1).example",
}
FORMULAS: Final = ("=1+1", "+1", "-1", "@SUM(1)", "\t=1", " =1", "\uff1d1")


def hostile_entry(number: int, name: str) -> QueryEntry:
    at_ns = int(time.time() * NS) - number * NS
    return entry(
        0, name, at_ns=at_ns, time=f"{at_ns}", client=name[:200], client_name=name, rule=name,
        reason=name, upstream=name, qtype=name[:60], status=name[:60], service=name,
    )  # fmt: skip


@pytest.fixture(scope="module")
def hostile(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    """Hostile text in every column that the network or plain SQL can fill."""
    with open_site(tmp_path_factory.mktemp("hostile"), is_started=True) as site:
        site.store([hostile_entry(number, name) for number, name in enumerate(HOSTILE.values())])
        with site.database.transaction() as tx:
            for name in HOSTILE.values():
                now = time.time()
                record_pull(tx, server=name[:40], job=None, started_at=now, seconds=1.0,
                            state="failed", error=name)  # fmt: skip
                record_gap(tx, name, from_ns=1, to_ns=int(now * NS), found_at=now, reason=name)
                record_audit(tx, at=now, actor=name, action=name, subject=name,
                             detail={"name": name, name: name, "before": {name: name},
                                     "after": {"name": name, "window": name}})  # fmt: skip
                tx.run("INSERT INTO rule (name, kind) VALUES (:name, 'nonsense')", name=name)
        save_rule(
            site.database,
            draft("<b>bold</b>", clients=("<i>x</i>",)), actor='"><script>', now=time.time(),
        )  # fmt: skip
        yield site


UNSEEN: Final = re.compile("[\x00-\x08\x0b-\x1f\x7f\u200b\u202a-\u202e\u2066-\u2069\u3164]")


def test_hostile_names_are_text_on_every_page(hostile: Site) -> None:
    person = hostile.person()
    pages = {address(hostile, rule) for rule in routes(hostile, changing=False)}
    pages |= {
        "/log?domain=example",
        "/?range=hour",
        "/rules/12",
        "/rules/12/delete",
        "/rules/1/delete",
    }
    shown = ""
    for path in sorted(page for page in pages if not page.startswith(("/api/", "/log/export"))):
        answer = person.get(path)
        assert answer.status_code in (200, 302, 303, 409), path
        markup = Markup(answer.text)
        assert markup.tags <= OURS, path
        assert markup.forbidden == [], path
        assert not UNSEEN.search(answer.text), path
        assert "<script>" not in answer.text
        assert "1337" not in answer.text
        shown += answer.text
    assert "&lt;script&gt;alert(1)&lt;/script&gt;" in shown
    assert "U+202E" in shown
    assert "bücher" in shown
    assert LONG in shown


def test_a_hostile_name_can_be_found_by_its_own_link(hostile: Site) -> None:
    person = hostile.person()
    text = person.get("/log").text
    links = [unescape(link) for link in re.findall(r'<td class="domain"><a href="([^"]*)"', text)]
    found = {person.get(link).text.count('<td class="domain">') for link in links}
    assert found == {1}
    assert len(links) == len(HOSTILE)


def test_exports_of_hostile_names_are_data(hostile: Site) -> None:
    person = hostile.person()
    rows = list(csv.reader(io.StringIO(person.get("/log/export.csv").data.decode("utf-8-sig"))))
    assert {len(row) for row in rows} == {14}
    assert len(rows) == len(HOSTILE) + 1
    assert [cell for row in rows for cell in row if cell.startswith(("=", "+", "-", "@"))] == []
    found = json.loads(person.get("/log/export.json").data)
    assert {row["domain"] for row in found} == {
        name.replace("\x00", "\ufffd") for name in HOSTILE.values()
    }
    assert person.get("/api/charts?range=hour").get_json()["queries"] == len(HOSTILE)


@pytest.mark.parametrize("text", FORMULAS)
def test_a_cell_that_a_spreadsheet_would_run_is_marked_as_text(tmp_path: Path, text: str) -> None:
    with open_site(tmp_path) as site:
        site.store([entry(0, "example.com", client_name=text)])
        rows = list(
            csv.DictReader(
                io.StringIO(site.person().get("/log/export.csv").data.decode("utf-8-sig"))
            )
        )
        assert rows[0]["client_name"] == f"'{text}"


def test_names_are_made_visible() -> None:
    assert str(visible("a<b\x07")) == '<bdi>a&lt;b<span class="odd">U+0007</span></bdi>'
    assert "bücher.example" in str(domain_name("xn--bcher-kva.example"))
    assert "xn--bcher-kva.example" in str(domain_name("xn--bcher-kva.example"))
    dotted = "xn--" + "a\u3002b".encode("punycode").decode()
    for imitation in (dotted, "xn--abc-", "xn--", "xn--\u00fc", f"xn--{'a' * 70}"):
        assert decoded(imitation) is None


def test_a_person_without_a_filter_sees_no_button_to_clear_it(log: Site) -> None:
    person: Person = log.person()
    assert "Clear" not in person.get("/log").text
    assert "Clear" in person.get("/log?domain=x").text


def test_an_empty_log_does_not_speak_of_a_filter(tmp_path: Path) -> None:
    with open_site(tmp_path) as site:
        person = site.person()
        assert "No queries yet." in person.get("/log").text
        assert "No query matches this filter." in person.get("/log?domain=x").text


def test_a_row_of_another_year_has_its_year(tmp_path: Path) -> None:
    with open_site(tmp_path, timezone="Asia/Shanghai") as site:
        site.store([entry(-366 * 86_400.0)])
        assert ">2025-03-14 20:00:00</time>" in site.person().get("/log").text


def test_both_exports_have_the_same_columns(tmp_path: Path) -> None:
    with open_site(tmp_path) as site:
        site.store([entry(0, elapsed_us=12_345_678)])
        person = site.person()
        text = person.get("/log/export.csv").data.decode("utf-8-sig")
        [cells] = csv.DictReader(io.StringIO(text))
        [values] = json.loads(person.get("/log/export.json").data)
        assert list(cells) == list(values)
        assert (cells["elapsed_ms"], values["elapsed_ms"]) == ("12345.678", 12345.678)
        assert (cells["blocked"], values["blocked"]) == ("0", False)
