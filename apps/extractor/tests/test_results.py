"""The store of results: one contract, SQLite and PostgreSQL."""

import os
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from apps.extractor.tests.stores import DIALECTS, new_settings, new_store, postgres_server, result
from fairlane import BadSetting, DatabaseCorrupt, SchemaTooNew, StoreUnavailable
from fairlane_extractor.results import ResultStore, open_store
from fairlane_extractor.results.migrations import migrations
from fairlane_extractor.settings import Settings
from tests.support.postgres import Server, run_at

AT_ONCE = 6

SAVE_IN_A_PROCESS = """
import sys
from pathlib import Path
from apps.extractor.tests.stores import result
from fairlane_extractor.results import open_store
from fairlane_extractor.settings import Settings

folder, database, number = sys.argv[1:]
store = open_store(Settings(folder=Path(folder), database=database or None))
store.prepare()
for text in ("first", "second", "last"):
    store.save(result(1, text, title=number))
    store.save(result(10 * int(number), text))
store.close()
"""


@pytest.fixture(params=DIALECTS)
def settings(request: pytest.FixtureRequest, tmp_path: Path) -> Settings:
    """Settings with an empty database."""
    return new_settings(request.param, tmp_path)


@pytest.fixture
def store(settings: Settings) -> Iterator[ResultStore]:
    opened = open_store(settings)
    opened.prepare()
    yield opened
    opened.close()


def together(work: Callable[[int], None]) -> None:
    """Run the work in threads that start at the same time, and raise their first error."""
    gate = threading.Barrier(AT_ONCE)
    errors: list[BaseException] = []

    def run(index: int) -> None:
        gate.wait()
        try:
            work(index)
        except BaseException as error:  # noqa: BLE001 - raised again by the test
            errors.append(error)

    threads = [threading.Thread(target=run, args=(index,)) for index in range(AT_ONCE)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if errors:
        raise errors[0]


def ids(store: ResultStore) -> list[str]:
    return [one.id for one in store.list().items]


def test_a_saved_result_is_loaded_as_it_was(store: ResultStore) -> None:
    saved = result(1, "Good morning.", "看看这个 🦊", "")
    store.save(saved)
    assert store.load("job-1") == saved
    assert store.load("job-2") is None
    assert store.load("\x00\ud800' OR 1") is None


def test_a_result_that_is_saved_again_replaces_the_earlier_one(store: ResultStore) -> None:
    store.save(result(1, "the old words"))
    store.save(result(1, "the new words"))
    loaded = store.load("job-1")
    assert loaded is not None
    assert [line.text for line in loaded.lines] == ["the new words"]
    assert ids(store) == ["job-1"]
    assert [hit.text for hit in store.search("words").items] == ["the new words"]


def test_a_deleted_result_is_neither_listed_nor_found(store: ResultStore) -> None:
    store.save(result(1, "rivers"))
    store.save(result(2, "rivers"))
    assert store.delete("job-1")
    assert not store.delete("job-1")
    assert not store.delete("\x00\ud800")
    assert ids(store) == ["job-2"]
    assert [hit.id for hit in store.search("rivers").items] == ["job-2"]


def test_pages_of_a_list_are_the_newest_first_without_gaps(store: ResultStore) -> None:
    for number in range(7):
        store.save(result(number, created_at=1_800_000_000.0 + number // 3))
    found: list[str] = []
    cursor = None
    while True:
        page = store.list(limit=2, cursor=cursor)
        found += [one.id for one in page.items]
        if found == ["job-6", "job-5"]:  # a page does not shift by a new or a deleted result
            store.save(result(9))
            store.delete("job-6")
        cursor = page.next
        if cursor is None:
            break
    assert found == [f"job-{number}" for number in (6, 5, 4, 3, 2, 1, 0)]


def test_a_summary_has_the_number_of_lines(store: ResultStore) -> None:
    store.save(result(1, "one", "two", seconds=None, language=None, media_path=None))
    [summary] = store.list().items
    assert (summary.lines, summary.seconds, summary.language) == (2, None, None)
    assert (summary.title, summary.input) == ("Video 1", "https://video.example/1")


@pytest.mark.parametrize("cursor", ["x", "é", "W10", "MQ", "bnVsbA", "%", "", "W1wiYSIsMV0"])
def test_a_cursor_that_no_page_gave_is_refused(store: ResultStore, cursor: str) -> None:
    with pytest.raises(BadSetting, match="is not a cursor"):
        store.list(cursor=cursor)


def test_a_limit_below_one_is_refused_and_a_large_one_is_bounded(store: ResultStore) -> None:
    store.save(result(1, "rivers"))
    with pytest.raises(BadSetting, match="the limit of a page is 0"):
        store.list(limit=0)
    with pytest.raises(BadSetting, match="the limit of a page is -1"):
        store.search("rivers", limit=-1)
    assert len(store.list(limit=10**30).items) == 1
    assert len(store.search("rivers", limit=10**30).items) == 1


def test_characters_that_no_database_stores_are_removed(store: ResultStore) -> None:
    store.save(result(1, "ri\x00vers \ud800flow", title="T\x00itle\udfff", input="a\x00b"))
    loaded = store.load("job-1")
    assert loaded is not None
    assert (loaded.title, loaded.input, loaded.lines[0].text) == ("Title", "ab", "rivers flow")
    assert [hit.id for hit in store.search("rivers flow").items] == ["job-1"]


def test_a_very_long_line_is_stored_and_found_by_its_words(store: ResultStore) -> None:
    words = " ".join(f"{chr(0x20000 + n)}word{n}" * 3 for n in range(5_000))
    store.save(result(1, "x" * 200_000, words))
    assert store.load("job-1") is not None
    assert store.search("x" * 60).items[0].line == 0
    assert store.search("word7").items[0].line == 1
    assert store.search("word4999").items[0].line == 1


def test_threads_that_prepare_and_save_at_the_same_time_wait_for_each_other(
    settings: Settings,
) -> None:
    opened = open_store(settings)

    def work(index: int) -> None:
        opened.prepare()
        for _ in range(3):
            opened.save(result(1, f"rivers {index}"))
            opened.save(result(10 + index, f"rivers {index}"))

    together(work)
    assert sorted(ids(opened)) == ["job-1", *(f"job-{10 + n}" for n in range(AT_ONCE))]
    assert len(opened.search("rivers").items) == AT_ONCE + 1
    opened.close()


def test_several_processes_use_one_database(store: ResultStore, settings: Settings) -> None:
    root = Path(__file__).parents[3]
    processes = [
        subprocess.Popen(
            [sys.executable, "-c", SAVE_IN_A_PROCESS, str(settings.folder),
             settings.database or "", str(number)],
            cwd=root,
        )
        for number in (1, 2, 3)
    ]  # fmt: skip
    assert [process.wait() for process in processes] == [0, 0, 0]
    assert sorted(ids(store)) == ["job-1", "job-10", "job-20", "job-30"]
    assert len(store.search("last").items) == 4
    assert not store.search("first").items


@pytest.mark.filterwarnings("ignore:.*use of fork:DeprecationWarning")
def test_a_child_of_a_fork_opens_its_own_connection(store: ResultStore) -> None:
    store.save(result(1, "rivers"))
    child = os.fork()
    if child == 0:
        try:
            store.save(result(2, "rivers"))
        except BaseException:  # noqa: BLE001 - the boundary of the process
            os._exit(1)
        os._exit(0)
    assert os.waitpid(child, 0)[1] == 0
    store.save(result(3, "rivers"))
    assert ids(store) == ["job-3", "job-2", "job-1"]


def test_the_file_and_its_folder_are_private(tmp_path: Path) -> None:
    store = new_store("sqlite", tmp_path / "new" / "folder")
    store.save(result(1, "rivers"))
    files = sorted((tmp_path / "new" / "folder").iterdir())
    assert [path.name for path in files] == ["results.db", "results.db-shm", "results.db-wal"]
    assert {path.stat().st_mode & 0o777 for path in files} == {0o600}
    assert (tmp_path / "new" / "folder").stat().st_mode & 0o777 == 0o700
    store.close()


def test_both_databases_have_the_same_migrations() -> None:
    names = [[one.name for one in migrations(dialect)] for dialect in ("sqlite", "postgres")]
    assert names[0] == names[1]
    numbers = [one.version for one in migrations("sqlite")]
    assert numbers == list(range(1, len(numbers) + 1))


def test_prepare_of_a_prepared_database_changes_nothing(store: ResultStore) -> None:
    store.save(result(1, "rivers"))
    store.prepare()
    assert ids(store) == ["job-1"]


def test_tables_of_a_newer_program_are_refused(tmp_path: Path) -> None:
    import apsw

    store = new_store("sqlite", tmp_path)
    store.close()
    connection = apsw.Connection(str(tmp_path / "results.db"))
    connection.pragma("user_version", 99)
    connection.close()
    with pytest.raises(SchemaTooNew, match="version 99"):
        store.prepare()
    settings = new_settings("postgres", tmp_path)
    newer = open_store(settings)
    newer.prepare()
    assert settings.database is not None
    run_at(settings.database, "INSERT INTO extractor.schema_version VALUES (99)")
    with pytest.raises(SchemaTooNew, match="version 99"):
        newer.prepare()
    newer.close()


def test_a_file_that_is_no_database_is_damaged(tmp_path: Path) -> None:
    (tmp_path / "results.db").write_bytes(b"no database at all" * 1_000)
    with pytest.raises(DatabaseCorrupt, match=r"results\.db is damaged"):
        open_store(Settings(folder=tmp_path)).prepare()


def test_a_folder_that_cannot_be_created_is_an_unavailable_store(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"")
    with pytest.raises(StoreUnavailable, match="check the folder"):
        open_store(Settings(folder=tmp_path / "file" / "folder")).prepare()


def test_a_store_that_is_not_prepared_says_so(settings: Settings) -> None:
    opened = open_store(settings)
    with pytest.raises(StoreUnavailable, match="prepared"):
        opened.load("job-1")
    opened.close()


def test_a_server_that_is_gone_is_an_unavailable_store_without_the_password(tmp_path: Path) -> None:
    address = "postgresql://ann:hunter2@127.0.0.1:1/none"
    with pytest.raises(StoreUnavailable) as caught:
        open_store(Settings(folder=tmp_path, database=address)).prepare()
    assert "hunter2" not in str(caught.value)


def test_a_connection_that_the_server_has_ended_is_replaced(tmp_path: Path) -> None:
    server = postgres_server()
    if not isinstance(server, Server):
        pytest.skip("this server has sessions of other programs")
    settings = new_settings("postgres", tmp_path)
    store = open_store(settings)
    store.prepare()
    assert settings.database is not None
    run_at(
        settings.database,
        "SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
        "WHERE application_name = 'fairlane-extractor' AND datname = current_database()",
    )
    store.save(result(1, "rivers"))
    assert ids(store) == ["job-1"]
    store.close()


def test_the_results_lie_beside_the_queue_on_sqlite(tmp_path: Path) -> None:
    store = open_store(Settings(folder=tmp_path, database=f"sqlite:///{tmp_path}/work/queue.db"))
    store.prepare()
    store.close()
    assert (tmp_path / "work" / "queue-results.db").exists()


def test_options_of_fairlane_are_not_passed_to_the_driver(tmp_path: Path) -> None:
    address = postgres_server().new_database()
    store = open_store(
        Settings(folder=tmp_path, database=f"{address}&fairlane_schema=work&application_name=a%20b")
    )
    store.prepare()
    store.close()


@pytest.mark.parametrize("address", ["mysql://ann:hunter2@host/db", "hunter2", "sqlite://", ""])
def test_an_address_that_is_not_understood_is_refused(tmp_path: Path, address: str) -> None:
    with pytest.raises(BadSetting, match="expected sqlite:///FOLDER") as caught:
        open_store(Settings(folder=tmp_path, database=address))
    assert "hunter2" not in str(caught.value)
