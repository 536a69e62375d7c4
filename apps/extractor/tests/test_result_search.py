"""The search in results: the words, the hits and the plans, on both databases."""

import random
from collections.abc import Iterator
from pathlib import Path

import apsw
import psycopg
import pytest

from apps.extractor.tests.stores import DIALECTS, new_settings, new_store, result
from fairlane import BadSetting
from fairlane_extractor.results import HitPage, ResultStore, open_store, postgres, sqlite
from fairlane_extractor.results.cursors import encode_cursor
from fairlane_extractor.results.search_words import terms_in, words_in
from fairlane_extractor.segments import Line

TEXTS = {
    1: ("The durable task", "queue of Fairlane runs.", "Nothing else."),
    2: ("看看这个任务", "队列调度器", "它很快"),
    3: ("A café in MÜNCHEN", "ＦＵＬＬ－ｗｉｄｔｈ text", "3D打印 and Python编程入门"),
    4: ("ภาษาไทยง่ายมาก", "오늘의 대한국어 수업", "今日は東京へ行きます"),
    5: ("the tasks of 2024", "a task, a full text search", '<b>markup</b> & "quotes"'),
}


@pytest.fixture(scope="module", params=DIALECTS)
def store(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[ResultStore]:
    """A filled store, which the tests only read."""
    opened = new_store(request.param, tmp_path_factory.mktemp("search"))
    for number, texts in TEXTS.items():
        opened.save(result(number, *texts))
    yield opened
    opened.close()


def found(page: HitPage) -> list[tuple[int, int | None]]:
    """Return the number of the result and the line of each hit, in the order of results."""
    return sorted((int(hit.id.removeprefix("job-")), hit.line) for hit in page.items)


def marked(page: HitPage) -> list[str]:
    return [part.text for hit in page.items for part in hit.parts if part.is_match]


@pytest.mark.parametrize(
    ("query", "hits"),
    [
        ("fairlane", [(1, 1)]),
        ("FAIR", [(1, 1)]),
        ("irlane", []),
        ("task queue", [(1, 0)]),
        ('"task queue"', [(1, 0)]),
        ('"queue task"', []),
        ("durable nothing", [(1, 0)]),
        ("durable missing", []),
        ("任务", [(2, 0)]),
        ("任务队列", [(2, 0)]),
        ("任", [(2, 0)]),
        ("务", [(2, 0)]),
        ("器", [(2, 1)]),
        ("这任", []),
        ("调度 很快", [(2, 1)]),
        ("cafe munchen", [(3, 0)]),
        ("Café", [(3, 0)]),
        ("Cafe\u0301", [(3, 0)]),
        ("full-width", [(3, 1)]),
        ("full", [(3, 1), (5, 1)]),
        ("打印", [(3, 2)]),
        ("3d打印", [(3, 2)]),
        ("python编程", [(3, 2)]),
        ("ไทย", [(4, 0)]),
        ("한국어", [(4, 1)]),
        ("東京", [(4, 2)]),
        ("2024", [(5, 0)]),
        ("task", [(1, 0), (5, 0)]),
        ('"task"', [(1, 0), (5, 1)]),
        ("markup quotes", [(5, 2)]),
        ("video 2", [(2, None)]),
    ],
)
def test_words_are_found_in_every_script(
    store: ResultStore, query: str, hits: list[tuple[int, int | None]]
) -> None:
    page = store.search(query)
    assert found(page) == hits
    assert page.next is None
    for hit in page.items:
        assert "".join(part.text for part in hit.parts) == hit.text
        assert any(part.is_match for part in hit.parts)


@pytest.mark.parametrize(
    ("query", "parts"),
    [
        ("fair", ["Fairlane"]),
        ("任务", ["任务"]),
        ("看", ["看看"]),
        ("队", ["队"]),
        ("任务队列", ["任务"]),
        ('"task queue"', ["task"]),
        ("cafe", ["café"]),
        ("full-width", ["ＦＵＬＬ－ｗｉｄｔｈ"]),
        ("3d打印 python", ["3D打印", "Python"]),
        ("markup b", ["b", "markup", "b"]),
    ],
)
def test_the_found_words_are_marked(store: ResultStore, query: str, parts: list[str]) -> None:
    assert marked(store.search(query)) == parts


@pytest.mark.parametrize(
    "query",
    [
        "", " ", "?", '"', '""', '"""', "*", "words:task", "NEAR(task queue)", "task OR",
        "AND NOT", "task'", "' OR 1=1 --", "task:*", "!task", "(", ")", "a & | ! <-> b", "\\", "%",
        "{task queue} : x", "^task", "-task", "task\x00queue", "\ud800", "'; DROP TABLE result; --",
        "x" * 100_000, "任" * 10_000, "a " * 5_000, '"' + "b " * 5_000,
    ],
)  # fmt: skip
def test_no_query_reaches_the_syntax_of_a_database(store: ResultStore, query: str) -> None:
    page = store.search(query)
    assert page.next is None
    assert store.search("fairlane").items


def test_a_hit_has_the_time_and_the_title_of_its_result(store: ResultStore) -> None:
    [hit] = store.search("fairlane").items
    assert (hit.id, hit.title, hit.platform, hit.start) == ("job-1", "Video 1", "web", 4.0)


def test_pages_of_hits_are_the_last_saved_first_and_by_time_within_a_result(
    tmp_path: Path,
) -> None:
    for dialect in DIALECTS:
        opened = new_store(dialect, tmp_path)
        for number in (1, 2, 3):
            lines = tuple(
                Line(start=n, end=n + 1, text=f"river {n}", sources=("speech",), paragraph=n)
                for n in range(4)
            )
            opened.save(result(number, lines=lines))
        hits: list[tuple[str, int | None]] = []
        cursor = None
        while True:
            page = opened.search("river", limit=5, cursor=cursor)
            hits += [(hit.id, hit.line) for hit in page.items]
            if cursor is None:
                opened.save(result(4, "a river that is saved meanwhile"))
            cursor = page.next
            if cursor is None:
                break
        assert hits == [(f"job-{number}", n) for number in (3, 2, 1) for n in range(4)]
        for wrong in ("x", "W10", "IngiCg"):
            with pytest.raises(BadSetting, match="is not a cursor"):
                opened.search("river", cursor=wrong)
        beyond_all_ids = encode_cursor(10**40 - 1)
        assert opened.search("river", cursor=beyond_all_ids).items
        opened.close()


def test_a_hit_in_a_huge_line_is_short(store: ResultStore) -> None:
    line = "every word of this river " * 8_020 + "the last estuary"
    chinese = "看这" * 10_000 + "入海口"
    store.save(result(60, line, chinese, title="endless " * 10_000))
    for query, number in (("estuary", 0), ("river", 0), ("入海口", 1), ("endless", None)):
        page = store.search(query, limit=200)
        assert page.items[0].line == number
        for hit in page.items:
            assert len(hit.text) <= 302
            assert len(hit.title) <= 300
            assert "".join(part.text for part in hit.parts) == hit.text
            assert any(part.is_match for part in hit.parts)
    [hit] = store.search("estuary").items
    assert hit.text.startswith("…")
    assert hit.text.endswith("the last estuary")
    assert store.search("river").items[0].text.endswith("…")
    store.delete("job-60")


def test_long_paragraphs_are_several_passages(store: ResultStore) -> None:
    lines = [f"line {n} alpha" if n == 0 else f"line {n} omega" for n in range(100)]
    saved = result(50, *lines, title="")
    store.save(saved)
    assert found(store.search("alpha")) == [(50, 0)]
    assert found(store.search("omega")) == [(50, 1), (50, 40), (50, 80)]
    store.delete("job-50")


def test_the_plan_of_a_search_and_of_a_list_reads_no_whole_table(tmp_path: Path) -> None:
    chance = random.Random(3)
    words = [f"w{n}" for n in range(300)]
    for dialect in DIALECTS:
        settings = new_settings(dialect, tmp_path / dialect)
        opened = open_store(settings)
        opened.prepare()
        for number in range(20):
            texts = (" ".join(chance.choices(words, k=8)) for _ in range(150))
            lines = tuple(
                Line(start=n, end=n + 1, text=text, sources=("speech",), paragraph=n)
                for n, text in enumerate(texts)
            )
            opened.save(result(number, lines=lines))
        opened.save(result(100, "an unusual word"))
        opened.close()
        terms = terms_in("unusual word")
        if dialect == "sqlite":
            connection = apsw.Connection(str(tmp_path / dialect / "results.db"))
            plans = [
                "\n".join(row[3] for row in connection.execute(f"EXPLAIN QUERY PLAN {sql}", values))
                for sql, values in (
                    (sqlite.SEARCH, (sqlite.match_expression(terms), 10**9, 20)),
                    (sqlite.LIST, (1e12, "", 20)),
                )
            ]
            connection.close()
            assert "SCAN passage_words VIRTUAL TABLE INDEX" in plans[0]
            assert "SEARCH passage USING INTEGER PRIMARY KEY" in plans[0]
            assert "SEARCH result USING PRIMARY KEY" in plans[0]
            assert "SEARCH result USING INDEX result_by_time" in plans[1]
            assert not any("TEMP B-TREE" in plan for plan in plans)
        else:
            assert settings.database is not None
            with psycopg.connect(settings.database, autocommit=True) as session:
                session.execute("ANALYZE")
                # The list of a test is so short that it would be read whole.
                session.execute("SET enable_seqscan = off")
                plans = [
                    "\n".join(row[0] for row in session.execute(f"EXPLAIN {sql}".encode(), values))
                    for sql, values in (
                        (postgres.SEARCH, (postgres.match_expression(terms), 10**9, 20)),
                        (postgres.LIST, (1e12, "", 20)),
                    )
                ]
            assert "Bitmap Index Scan on passage_words" in plans[0]
            assert "result_by_time" in plans[1]
            assert "Sort" not in plans[1]
            assert not any("Seq Scan" in plan for plan in plans)


def test_words_know_their_place_in_the_text() -> None:
    for text in (*sum(TEXTS.values(), ()), "ﬁne ㍿ İstanbul ß"):
        for word in words_in(text):
            assert 0 <= word.start < word.end <= len(text)
    assert [word.text for word in words_in("ﬁne ㍿ Straße don't")] == [
        "fine", "株式", "式会", "会社", "社", "strasse", "don", "t",
    ]  # fmt: skip
