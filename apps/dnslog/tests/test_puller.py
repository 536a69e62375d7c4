from collections.abc import Sequence
from pathlib import Path

import pytest

from apps.dnslog.tests.adguard_servers import Home, TestClock, make_settings, running_home
from fairlane_dnslog import log_walk
from fairlane_dnslog.adguard_errors import LoginRefused, ServerUnavailable
from fairlane_dnslog.database import Database
from fairlane_dnslog.log_walk import PullResult
from fairlane_dnslog.pull_log import (
    pause_server,
    read_server,
    recent_gaps,
    recent_pulls,
    resume_server,
)
from fairlane_dnslog.puller import pull
from fairlane_dnslog.settings import Settings
from fairlane_dnslog.stand_in import Fault, LoggedQuery, Options, StandIn, read_journal
from fairlane_dnslog.timestamps import SECOND_NS


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    return make_settings(tmp_path, page_size=50)


def pull_now(
    home: Home, database: Database, settings: Settings, *, deep: bool | None = None
) -> PullResult:
    return pull(home.client, database, settings, now=home.clock.seconds, deep=deep)


def stored_digests(database: Database) -> set[bytes]:
    with database.reading() as tx:
        return {bytes(row["ip"]) for row in tx.rows("SELECT ip FROM query_log")}


def logged_digests(journal: Path) -> set[bytes]:
    queries = read_journal(journal).queries
    return {query.to_entry().digest("home") for query in queries}


def test_the_first_pull_stores_the_whole_log(database: Database, settings: Settings) -> None:
    with running_home() as home:
        logged = home.log(220)

        result = pull_now(home, database, settings)

    assert result.stored == 220
    assert result.gap is None
    with database.reading() as tx:
        state = read_server(tx, "home")
    assert state.watermark_at_ns == logged[-1].at_ns
    assert state.watermark_time == logged[-1].to_entry().time


def test_a_second_pull_stores_only_new_rows(database: Database, settings: Settings) -> None:
    with running_home() as home:
        home.log(300, seconds_apart=0.1)
        pull_now(home, database, settings)
        home.clock.advance(10)
        home.log(3)

        result = pull_now(home, database, settings)

    assert (result.pages, result.stored) == (1, 3)


def test_a_pull_without_new_rows_stores_nothing(database: Database, settings: Settings) -> None:
    with running_home() as home:
        home.log(10)
        pull_now(home, database, settings)

        assert pull_now(home, database, settings).stored == 0
        assert len(stored_digests(database)) == 10


def test_slow_queries_do_not_hide_rows_between_pages(
    database: Database, settings: Settings, tmp_path: Path
) -> None:
    """A page is cut in the order of logging: its oldest time may lie behind rows that it lacks."""
    journal = tmp_path / "journal"
    with running_home(Options(rate=200.0, seed=3, journal=journal)) as home:
        home.clock.advance(30)
        home.server.state.advance()

        pull_now(home, database, settings)

    assert len(logged_digests(journal)) > 5000
    assert stored_digests(database) == logged_digests(journal)


def test_pulls_of_a_busy_server_miss_nothing(
    database: Database, settings: Settings, tmp_path: Path
) -> None:
    journal = tmp_path / "journal"
    options = Options(rate=60.0, seed=5, journal=journal, offset_minutes=120, buffer_rows=100)
    with running_home(options) as home:
        for _ in range(12):
            home.clock.advance(10)
            pull_now(home, database, settings)
        home.clock.advance(1)

        pull_now(home, database, settings, deep=True)

    assert stored_digests(database) == logged_digests(journal)


def test_a_query_that_is_logged_late_is_found_by_the_next_deep_pull(
    database: Database, settings: Settings
) -> None:
    with running_home() as home:
        home.log(200, seconds_apart=0.1)
        pull_now(home, database, settings)
        home.log(1, at_ns=home.clock.at_ns - 9 * SECOND_NS, elapsed_us=9_000_000)
        home.log(100, seconds_apart=0.01)
        shallow = pull_now(home, database, settings, deep=False)
        home.clock.advance(61)

        deep = pull_now(home, database, settings)

    assert shallow.stored + deep.stored == 101
    assert deep.is_deep


def test_rows_that_a_flush_hid_are_found_by_the_next_deep_pull(
    database: Database, settings: Settings
) -> None:
    """AdGuard moves rows from memory to its file; for an instant they are in neither."""
    with running_home() as home:
        home.log(20)
        pull_now(home, database, settings)
        home.log(300, seconds_apart=0.1)
        home.server.set_faults(Fault(kind="flush", size=5, hidden=290))
        assert pull_now(home, database, settings).stored < 300
        home.server.set_faults()
        home.clock.advance(61)

        pull_now(home, database, settings)

    assert len(stored_digests(database)) == 320


def test_a_log_that_lost_rows_leaves_a_gap(database: Database, settings: Settings) -> None:
    with running_home(Options(most_rows=100)) as home:
        first = home.log(50)
        pull_now(home, database, settings)
        home.clock.advance(3600)
        later = home.log(300)

        result = pull_now(home, database, settings)
        again = pull_now(home, database, settings)

    assert (result.stored, again.stored, again.gap) == (100, 0, None)
    with database.reading() as tx:
        [gap] = recent_gaps(tx)
    assert (gap.from_ns, gap.to_ns) == (first[-1].at_ns, later[-100].at_ns)
    assert "rotated or lost" in gap.reason


def test_an_empty_log_proves_nothing_until_it_has_rows(
    database: Database, settings: Settings
) -> None:
    with running_home() as home:
        home.log(5)
        pull_now(home, database, settings)
        home.server.state.log.clear("cleared")
        assert pull_now(home, database, settings).gap is None
        home.clock.advance(60)
        home.log(1)

        assert pull_now(home, database, settings).gap is not None


def test_a_pull_that_fails_stores_its_pages_and_leaves_the_watermark(
    database: Database, settings: Settings
) -> None:
    with running_home() as home:
        home.log(30)
        pull_now(home, database, settings)
        with database.reading() as tx:
            before = read_server(tx, "home").watermark_at_ns
        home.log(500)
        home.server.set_faults(Fault(kind="status", status=503, path="/control/querylog"))
        with pytest.raises(ServerUnavailable):
            pull_now(home, database, settings)
        stops = iter([False, True])
        home.server.set_faults()
        stopped = pull(
            home.client, database, settings, now=home.clock.seconds, is_stopping=lambda: next(stops)
        )
        with database.reading() as tx:
            assert read_server(tx, "home").watermark_at_ns == before
            assert [row.state for row in recent_pulls(tx)] == ["failed", "failed", "succeeded"]

        pull_now(home, database, settings)

    assert (stopped.is_complete, stopped.pages) == (False, 2)
    assert len(stored_digests(database)) == 530


def test_a_refused_login_pauses_the_server(database: Database, settings: Settings) -> None:
    with running_home() as home:
        home.server.set_faults(Fault(kind="status", status=401))
        with pytest.raises(LoginRefused):
            pull_now(home, database, settings)

        assert home.server.requests == 1
    with database.transaction() as tx:
        assert "correct the username or the password" in str(read_server(tx, "home").paused_reason)
        assert recent_pulls(tx)[0].state == "refused"
        resume_server(tx, "home")
        pause_server(tx, "home", reason="again")


def test_a_clock_that_was_set_back_loses_no_rows(database: Database, settings: Settings) -> None:
    with running_home() as home:
        home.log(120)
        pull_now(home, database, settings)
        with database.reading() as tx:
            before = read_server(tx, "home").watermark_at_ns
        first_ns = home.clock.at_ns - 7200 * SECOND_NS
        for number in range(130):
            home.server.state.log_query("back.example", at_ns=first_ns + number * SECOND_NS // 100)

        result = pull_now(home, database, settings)

    assert (result.stored, result.gap) == (130, None)
    with database.reading() as tx:
        assert read_server(tx, "home").watermark_at_ns == before


def test_times_in_the_future_do_not_raise_the_watermark(
    database: Database, settings: Settings
) -> None:
    with running_home() as home:
        [present] = home.log(1)
        home.server.state.log_query("future.example", at_ns=home.clock.at_ns + 86_400 * SECOND_NS)

        result = pull_now(home, database, settings)

    assert result.stored == 2
    with database.reading() as tx:
        assert read_server(tx, "home").watermark_at_ns == present.at_ns


def test_a_restart_that_keeps_the_log_leaves_no_gap(
    database: Database, settings: Settings, tmp_path: Path
) -> None:
    clock = TestClock()
    options = Options(rate=20.0, journal=tmp_path / "journal")
    with running_home(options, clock=clock) as home:
        clock.advance(20)
        pull_now(home, database, settings)
        clock.advance(5)
        home.server.state.advance()
    with running_home(options, clock=clock) as home:
        clock.advance(10)
        result = pull_now(home, database, settings, deep=True)

    assert result.gap is None
    assert stored_digests(database) == logged_digests(tmp_path / "journal")


def test_a_restart_that_loses_the_log_leaves_a_gap_around_its_lost_rows(
    database: Database, settings: Settings, tmp_path: Path
) -> None:
    clock = TestClock()
    journal = tmp_path / "journal"
    options = Options(rate=20.0, journal=journal, keeps_log=False)
    with running_home(options, clock=clock) as home:
        clock.advance(20)
        pull_now(home, database, settings)
        clock.advance(5)
        home.server.state.advance()
    with running_home(options, clock=clock) as home:
        clock.advance(10)
        pull_now(home, database, settings)

    stored = stored_digests(database)
    with database.reading() as tx:
        [gap] = recent_gaps(tx)
    missing = [
        query
        for query in read_journal(journal).queries
        if query.to_entry().digest("home") not in stored
    ]
    assert missing
    last_dropped = read_journal(journal).dropped[-1].to_number
    assert all(query.number <= last_dropped for query in missing)
    late_ns = 10 * SECOND_NS  # a slow query of the gap began before its bound
    assert all(gap.from_ns - late_ns <= query.at_ns <= gap.to_ns for query in missing)


def log_again(home: Home, queries: Sequence[tuple[int, int]]) -> None:
    """Log queries, each a start and a duration in nanoseconds, in the order of their ends."""
    for at_ns, took_ns in sorted(queries, key=sum):
        home.clock.at_ns = max(home.clock.at_ns, at_ns + took_ns)
        home.server.state.log_query(
            f"q{at_ns}.example", at_ns=at_ns, elapsed_us=took_ns // 1000, client=f"c{took_ns}"
        )


def missing_rows(database: Database, journal: Path) -> list[LoggedQuery]:
    stored = stored_digests(database)
    queries = read_journal(journal).queries
    return [query for query in queries if query.to_entry().digest("home") not in stored]


@pytest.mark.parametrize("slow_of_ten", [5, 10])
def test_an_outage_of_an_upstream_hides_no_rows(
    database: Database, settings: Settings, tmp_path: Path, slow_of_ten: int
) -> None:
    """Queries of 10 s stand in the pages of later, fast ones; their pages must not be skipped."""
    journal = tmp_path / "journal"
    with running_home(Options(journal=journal, buffer_rows=100)) as home:
        home.log(60)
        pull_now(home, database, settings)
        start_ns = home.clock.at_ns
        queries = [
            (start_ns + number * SECOND_NS // 20 + number, took_ns)
            for number in range(800)
            for is_slow in [200 <= number < 600 and number % 10 < slow_of_ten]
            for took_ns in [10 * SECOND_NS + number * 1000 if is_slow else 1_000_000]
        ]
        log_again(home, queries)

        result = pull_now(home, database, settings)

    assert result.gap is None
    assert missing_rows(database, journal) == []


def test_queries_slower_than_the_largest_page_leave_a_gap(
    database: Database, settings: Settings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(log_walk, "LARGEST_LIMIT", 100)
    journal = tmp_path / "journal"
    with running_home(Options(journal=journal)) as home:
        home.log(60)
        pull_now(home, database, settings)
        start_ns = home.clock.at_ns
        slow = [(start_ns + number * 10_000_000, 10 * SECOND_NS) for number in range(400)]
        fast = [(start_ns + number * 10_000_000 + 1, 1_000_000) for number in range(400)]
        log_again(home, slow + fast)

        pull_now(home, database, settings)

    with database.reading() as tx:
        gaps = recent_gaps(tx)
    missing = missing_rows(database, journal)
    assert missing
    assert all(any(gap.from_ns <= query.at_ns <= gap.to_ns for gap in gaps) for query in missing)


def test_rows_with_an_old_time_do_not_end_a_catch_up(
    database: Database, settings: Settings, tmp_path: Path
) -> None:
    """A machine without a clock starts 30 minutes behind, until the network sets its clock."""
    journal = tmp_path / "journal"
    for behind in (5, 120):  # less and more than a quarter of a page
        with running_home(Options(journal=journal), clock=TestClock()) as home:
            home.clock.advance(behind * 86_400)
            home.log(60)
            pull_now(home, database, settings)
            home.log(600, seconds_apart=6)
            wrong_ns = home.clock.at_ns - 1800 * SECOND_NS + 1
            for number in range(behind):
                home.log(1, at_ns=wrong_ns + number * SECOND_NS // 2)
            home.clock.advance(60)
            home.log(10, seconds_apart=1)

            result = pull_now(home, database, settings)

        assert (result.gap, missing_rows(database, journal)) == (None, [])


@pytest.mark.parametrize("apart_ns", [0, 20_000])
def test_a_burst_that_is_larger_than_a_page_is_stored(
    database: Database, settings: Settings, tmp_path: Path, apart_ns: int
) -> None:
    journal = tmp_path / "journal"
    with running_home(Options(journal=journal)) as home:
        home.log(60, seconds_apart=1)
        pull_now(home, database, settings)
        home.clock.advance(10)
        at_ns = home.clock.at_ns
        log_again(home, [(at_ns + n * apart_ns, 1000 * (n * 7 % 400)) for n in range(400)])

        result = pull_now(home, database, settings)

    assert result.gap is None
    assert missing_rows(database, journal) == []


def test_a_log_that_lost_only_its_memory_leaves_a_gap(
    database: Database, settings: Settings, tmp_path: Path
) -> None:
    journal = tmp_path / "journal"
    with running_home(Options(journal=journal)) as home:
        logged = home.log(200, seconds_apart=1)
        pull_now(home, database, settings)
        lost = home.log(30, seconds_apart=1)
        home.server.state.log.lose_newest(50)
        pull_now(home, database, settings)  # a log without newer rows proves nothing
        [first, *_] = home.log(5, seconds_apart=1)

        pull_now(home, database, settings)
        again = pull_now(home, database, settings)

    with database.reading() as tx:
        [gap] = recent_gaps(tx)
    assert (gap.from_ns, gap.to_ns) == (logged[-21].at_ns, first.at_ns)
    assert missing_rows(database, journal) == lost
    assert again.gap is None


def test_a_watermark_that_is_hidden_for_an_instant_leaves_no_gap(
    database: Database, settings: Settings
) -> None:
    with running_home() as home:
        home.log(200)
        pull_now(home, database, settings)
        home.log(10)
        home.server.set_faults(Fault(kind="flush", size=5, hidden=50, times=1))

        result = pull_now(home, database, settings)

    assert result.gap is None
    assert len(stored_digests(database)) == 210


def test_a_pull_at_its_bound_of_pages_is_continued_by_the_next(
    database: Database, tmp_path: Path
) -> None:
    settings = make_settings(tmp_path, page_size=50, most_pages=4)
    journal = tmp_path / "journal"
    with running_home(Options(journal=journal)) as home:
        home.log(60, seconds_apart=1)
        pull_now(home, database, settings)
        with database.reading() as tx:
            before = read_server(tx, "home")
        home.log(600, seconds_apart=1)
        first = pull_now(home, database, settings)
        with database.reading() as tx:
            assert read_server(tx, "home").watermark_at_ns == before.watermark_at_ns
            assert recent_pulls(tx)[0].error_code == "bound"
        results = [first]
        while not results[-1].is_complete and len(results) < 20:
            [newest] = home.log(1)
            results.append(pull_now(home, database, settings))

    assert 4 < len(results) < 20
    assert all(result.gap is None for result in results)
    assert missing_rows(database, journal) == []
    with database.reading() as tx:
        after = read_server(tx, "home")
    assert (after.watermark_at_ns, after.catch_up_time) == (newest.at_ns, None)


def test_rows_that_adguard_drops_during_a_catch_up_are_a_gap(
    database: Database, tmp_path: Path
) -> None:
    settings = make_settings(tmp_path, page_size=50, most_pages=4)
    journal = tmp_path / "journal"
    with running_home(Options(journal=journal, most_rows=700)) as home:
        home.log(60, seconds_apart=1)
        pull_now(home, database, settings)
        home.log(600, seconds_apart=1)
        assert pull_now(home, database, settings).goes_on_at
        home.log(650, seconds_apart=1)
        for _ in range(20):
            home.clock.advance(10)
            pull_now(home, database, settings)

    missing = missing_rows(database, journal)
    with database.reading() as tx:
        [gap] = recent_gaps(tx)
    assert missing
    assert all(gap.from_ns <= query.at_ns <= gap.to_ns for query in missing)


def test_a_stopped_pull_of_a_clock_that_was_set_back_leaves_no_gap(
    database: Database, settings: Settings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(log_walk, "LARGEST_LIMIT", 50)
    journal = tmp_path / "journal"
    with running_home(Options(journal=journal)) as home:
        home.log(120)
        pull_now(home, database, settings)
        first_ns = home.clock.at_ns - 7200 * SECOND_NS
        for number in range(130):
            home.server.state.log_query("back.example", at_ns=first_ns + number * SECOND_NS // 10)
        pull(home.client, database, settings, now=home.clock.seconds, is_stopping=lambda: True)
        results = [pull_now(home, database, settings) for _ in range(2)]

    assert [result.gap for result in results] == [None, None]
    assert missing_rows(database, journal) == []


def test_a_row_that_cannot_be_stored_does_not_stop_the_others(
    database: Database, settings: Settings
) -> None:
    year_1_ns = -62_135_596_800 * SECOND_NS
    with running_home() as home:
        home.log(20)
        pull_now(home, database, settings)
        home.log(1, domain="")  # a query of the root
        home.log(1, elapsed_us=10**309)
        home.log(1, at_ns=year_1_ns)
        home.log(5)

        result = pull_now(home, database, settings)

    assert (result.stored, result.refused, result.is_complete) == (7, 1, True)
    with database.reading() as tx:
        [newest, _] = recent_pulls(tx)
        assert tx.row("SELECT qh FROM query_log WHERE qh = '.'")
    assert (newest.state, newest.error_code) == ("succeeded", "rows_refused")
    assert "1 rows cannot be stored; the last: '" in str(newest.error)


def test_a_stand_in_is_a_server_for_settings(tmp_path: Path) -> None:
    server = StandIn()
    try:
        assert server.settings("office").name == "office"
        assert "stand-in" not in repr(server.settings())
    finally:
        server.start()
        server.stop()
