"""The contract of the database, on both dialects."""

import os
import subprocess
import sys
import threading
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import psycopg
import pytest

from apps.dnslog.tests.databases import postgres_server
from fairlane_dnslog.database import (
    BadAddress,
    ConstraintViolated,
    Database,
    DatabaseDamaged,
    DatabaseUnavailable,
    SchemaTooNew,
    open_database,
)
from fairlane_dnslog.database.migrations import migrations
from fairlane_dnslog.database.placeholders import for_psycopg
from tests.support.postgres import Server, running_postgres

AT_ONCE = 6
SECRET = "INSERT INTO secret VALUES (:name, :value)"  # noqa: S105 - a statement
COUNT = "SELECT count(*) AS number FROM secret"


def together(work: Callable[[int], None], number: int = AT_ONCE) -> None:
    """Run the work in threads that start at the same time, and raise their first error."""
    gate = threading.Barrier(number)
    errors: list[BaseException] = []

    def run(index: int) -> None:
        gate.wait()
        try:
            work(index)
        except BaseException as error:  # noqa: BLE001 - raised again by the test
            errors.append(error)

    threads = [threading.Thread(target=run, args=(index,)) for index in range(number)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if errors:
        raise errors[0]


def count(database: Database) -> int:
    with database.reading() as tx:
        row = tx.row(COUNT)
    assert row is not None
    return int(row["number"])


def test_a_block_that_raises_leaves_nothing_behind(database: Database) -> None:
    def fail() -> None:
        with database.transaction() as tx:
            tx.run(SECRET, name="a", value="b")
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        fail()
    with database.transaction() as tx:
        assert tx.run(SECRET, name="c", value="d") == 1
    with database.reading() as tx:
        assert tx.rows("SELECT * FROM secret") == [{"name": "c", "value": "d"}]
        assert tx.row("SELECT * FROM secret WHERE name = :name", name="a") is None


def test_a_statement_reports_the_number_of_rows_that_it_changed(database: Database) -> None:
    with database.transaction() as tx:
        for name in "abc":
            tx.run(SECRET, name=name, value="x")
        assert tx.run("UPDATE secret SET value = 'y' WHERE name <> :name", name="a") == 2
        assert tx.run("UPDATE secret SET value = 'y' WHERE name = 'none'") == 0


def test_characters_that_postgresql_cannot_store_are_replaced(database: Database) -> None:
    with database.transaction() as tx:
        tx.run(SECRET, name="a\x00b\ud800c", value="100 % ünï :name 'quoted' 🦊")
    with database.reading() as tx:
        assert tx.rows("SELECT * FROM secret WHERE name = :name", name="a\x00b\udfffc") == [
            {"name": "a\ufffdb\ufffdc", "value": "100 % ünï :name 'quoted' 🦊"}
        ]


def test_a_read_sees_one_state_while_others_write(database: Database) -> None:
    with database.reading() as reader:
        assert reader.row(COUNT) == {"number": 0}
        with database.transaction() as writer:
            writer.run(SECRET, name="a", value="b")
        assert reader.row(COUNT) == {"number": 0}
    assert count(database) == 1


def test_a_row_that_breaks_the_schema_is_a_typed_error(database: Database) -> None:
    with database.transaction() as tx:
        tx.run(SECRET, name="a", value="b")
    with pytest.raises(ConstraintViolated), database.transaction() as tx:
        tx.run(SECRET, name="a", value="c")
    assert count(database) == 1


def test_writers_at_the_same_time_wait_for_each_other(database: Database) -> None:
    with database.transaction() as tx:
        tx.run(SECRET, name="sum", value="0")

    def add(_: int) -> None:
        for _ in range(10):
            with database.transaction() as tx:
                tx.run("UPDATE secret SET value = CAST(CAST(value AS integer) + 1 AS text)")

    together(add)
    with database.reading() as tx:
        assert tx.row("SELECT value FROM secret") == {"value": str(AT_ONCE * 10)}


def test_those_who_migrate_at_the_same_time_all_succeed(address: str) -> None:
    def migrate(_: int) -> None:
        with closing(open_database(address)) as database:
            database.migrate()
            database.migrate()

    together(migrate)
    with closing(open_database(address)) as database:
        assert count(database) == 0


def test_tables_of_a_newer_version_are_refused(database: Database) -> None:
    with database.transaction() as tx:
        if database.dialect == "sqlite":
            tx.rows("PRAGMA user_version = 99")
        else:
            tx.run("INSERT INTO schema_version VALUES (99)")
    with pytest.raises(SchemaTooNew, match="version 99"):
        database.migrate()


def test_both_dialects_have_the_same_migrations_tables_and_columns(database: Database) -> None:
    assert [one.name for one in migrations("sqlite")] == [
        one.name for one in migrations("postgres")
    ]
    with database.reading() as tx:
        if database.dialect == "sqlite":
            found = tx.rows(
                "SELECT t.name AS t, c.name AS c FROM sqlite_schema t, pragma_table_info(t.name) c "
                "WHERE t.type = 'table' AND t.name NOT LIKE 'sqlite_%'"
            )
        else:
            found = tx.rows(
                "SELECT table_name AS t, column_name AS c FROM information_schema.columns "
                "WHERE table_schema = 'dnslog' AND table_name <> 'schema_version'"
            )
    columns: dict[str, set[str]] = {}
    for row in found:
        columns.setdefault(row["t"], set()).add(row["c"])
    assert columns == COLUMNS


COLUMNS = {
    table: set(names.split())
    for table, names in {
        "query_log": "id server time at_ns qh ip client client_name qtype status reason blocked "
        "rule service upstream elapsed_us cached",
        "domain": "name last_at_ns queries",
        "client": "name label last_at_ns queries",
        "rollup": "grain start server kind key queries blocked elapsed_us answered",
        "server": "name watermark_at_ns watermark_time deep_at_ns paused_reason pull_seconds "
        "catch_up_time head_at_ns head_time",
        "pull": "id server job started_at seconds pages seen stored state error_code error",
        "gap": "id server from_ns to_ns found_at reason",
        "rule": "id name enabled kind servers detail window updated_at updated_by",
        "rules_version": "version",
        "applied": "server version applied_at block protection_until detail error",
        "process_rules": "process version loaded_at",
        "audit": "id at actor action subject detail",
        "account": "name password_hash role",
        "login_attempt": "id at address name succeeded",
        "login_session": "id account began_at",
        "secret": "name value",
    }.items()
}


def test_every_change_of_a_rule_raises_the_version(database: Database) -> None:
    for statement in (
        "INSERT INTO rule (name, kind) VALUES ('night', 'custom')",
        "UPDATE rule SET name = 'evening'",
        "DELETE FROM rule",
    ):
        with database.reading() as tx:
            before = tx.row("SELECT version FROM rules_version")
        with database.transaction() as tx:
            tx.run(statement)
        with database.reading() as tx:
            after = tx.row("SELECT version FROM rules_version")
        assert before is not None
        assert after == {"version": before["version"] + 1}


def test_a_connection_is_not_shared_with_a_forked_child(database: Database) -> None:
    with database.transaction() as tx:
        tx.run(SECRET, name="parent", value="")
    child = os.fork()
    if child == 0:
        status = 1
        try:
            with database.transaction() as tx:
                tx.run(SECRET, name="child", value="")
            database.close()
            status = 0
        finally:
            os._exit(status)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    with database.transaction() as tx:
        tx.run(SECRET, name="parent again", value="")
    assert count(database) == 3


def test_a_closed_database_opens_again_when_it_is_used(database: Database) -> None:
    database.close()
    assert count(database) == 0


@pytest.mark.parametrize("address", ["", "mysql://root:secret@host/x", "sqlite:///", "dnslog.db"])
def test_an_address_of_another_kind_is_refused_without_its_password(address: str) -> None:
    with pytest.raises(BadAddress, match="expected sqlite:///FOLDER") as raised:
        open_database(address)
    assert "secret" not in str(raised.value)


def test_a_file_that_is_no_database_is_one_sentence(tmp_path: Path) -> None:
    path = tmp_path / "dnslog.db"
    path.write_bytes(b"no database at all" * 1_000)
    with pytest.raises(DatabaseDamaged, match=r"dnslog\.db is damaged"):
        open_database(f"sqlite:///{path}").migrate()


def test_a_folder_that_cannot_be_made_is_unavailable(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(DatabaseUnavailable, match="cannot be used"):
        open_database(f"sqlite:///{tmp_path}/file/dnslog.db").migrate()


def test_after_a_restart_of_postgresql_the_next_transaction_succeeds() -> None:
    with running_postgres() as server:
        dsn = server.new_database()
        with closing(open_database(f"{dsn}&fairlane_schema=queue")) as database:
            database.migrate()
            with pytest.raises(DatabaseUnavailable):
                _write_during_restart(database, server)
            # Several connections were broken; none of them is used again.
            together(lambda _: _check_empty(database))
            server.restart()
            together(lambda _: _check_empty(database))
            server.stop()
            with pytest.raises(DatabaseUnavailable, match="expected a running server"):
                count(database)
            server.start()
            assert count(database) == 0


def _write_during_restart(database: Database, server: Server) -> None:
    with database.transaction() as tx:
        tx.run(SECRET, name="lost", value="")
        server.restart(immediate=True)
        tx.run(SECRET, name="lost too", value="")


def _check_empty(database: Database) -> None:
    assert count(database) == 0


def test_a_rule_that_is_changed_by_sql_is_announced_on_postgresql() -> None:
    address = postgres_server().new_database()
    with closing(open_database(address)) as database:
        database.migrate()
    with psycopg.connect(address, autocommit=True) as listener:
        listener.execute("LISTEN schedule_rules_changed")
        with psycopg.connect(address) as other:  # with the usual search_path
            other.execute("INSERT INTO dnslog.rule (name, kind) VALUES ('night', 'custom')")
        [announced] = listener.notifies(timeout=20, stop_after=1)
    assert announced.payload == "1"


def test_placeholders_are_translated_outside_of_literals_and_casts() -> None:
    assert (
        for_psycopg("SELECT ':a', \":b\", :c::text, '%' -- :d\n WHERE x LIKE :e")
        == "SELECT ':a', \":b\", %(c)s::text, '%%' -- :d\n WHERE x LIKE %(e)s"
    )


def test_another_program_leaves_the_log_of_changes_of_a_running_one(tmp_path: Path) -> None:
    """The last program that closes a database deletes the log; locks tell it of the others."""
    path = tmp_path / "dnslog.db"
    read = (
        "import sqlite3, sys; c = sqlite3.connect(sys.argv[1]); "
        "print(c.execute(sys.argv[2]).fetchone()[0]); c.close()"
    )
    count = "SELECT count(*) FROM secret"

    def rows_for_another_program() -> int:
        command = [sys.executable, "-c", read, str(path), count]
        return int(subprocess.run(command, check=True, capture_output=True, text=True).stdout)

    def add(name: str) -> None:
        with database.transaction() as tx:
            tx.run("INSERT INTO secret (name, value) VALUES (:name, '')", name=name)

    with closing(open_database(f"sqlite:///{path}")) as database:
        database.migrate()
        with database.reading() as tx, database.reading():  # two connections
            tx.rows(count)
        add("first")
        assert rows_for_another_program() == 1
        add("second")
        assert rows_for_another_program() == 2
