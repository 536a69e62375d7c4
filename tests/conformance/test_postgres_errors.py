"""Each problem of a server raises one error with advice and without a password."""

import socket
from collections.abc import AsyncIterator, Iterator
from typing import Any
from urllib.parse import quote

import asyncpg
import pytest

from fairlane.core.decisions import Changes, Firing, LaneChange
from fairlane.core.live_job import JobId
from fairlane.doctor import diagnose
from fairlane.errors import BadSetting, SchemaTooNew, StoreError, StoreUnavailable
from fairlane.store.open_store import store_at
from fairlane.store.postgres import PostgresStore
from fairlane.store.postgres.address import Address
from fairlane.store.postgres.connection import connect, refuse_old
from fairlane.store.postgres.inbox import LAG_SECONDS, InboxCursor
from fairlane.store.postgres.migrate import migrations
from fairlane.store.postgres.nul_escape import escaped, plain
from fairlane.store.shared_protocol import INBOX
from tests.support.eventually import eventually
from tests.support.postgres import Server, run_at, running_postgres
from tests.support.stores import NOW, PostgresPlace, a_job, admitted, ended, events, started

GIVEN = "secret"  # a password, which no message may contain


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    with running_postgres() as server:
        yield server


@pytest.fixture
async def store(postgres_place: PostgresPlace) -> AsyncIterator[PostgresStore]:
    store = postgres_place.handle()
    await store.open()
    await store.lead()
    yield store
    await store.close()


async def trouble_at(address: str, kind: type[StoreError]) -> str:
    """Open a store that cannot be opened and return the message, which names the address."""
    store = PostgresStore(address)
    with pytest.raises(kind) as caught:
        await store.open()
    assert store.address in caught.value.message
    assert "secret" not in caught.value.message
    with pytest.raises(StoreUnavailable, match="not open"):
        await store.last_seq()
    await store.close()
    return caught.value.message


async def test_a_wrong_password_is_refused_and_not_in_the_message(server: Server) -> None:
    message = await trouble_at(server.tcp_dsn(password=GIVEN), StoreUnavailable)
    assert "check the user and the password" in message


async def test_a_right_password_opens(server: Server) -> None:
    server.new_database()
    store = PostgresStore(server.tcp_dsn("test_1"))
    await store.open()
    assert server.password not in store.address
    assert await store.last_seq() == 0
    await store.close()


async def test_the_error_names_a_missing_database(server: Server) -> None:
    message = await trouble_at(server.dsn("nowhere"), StoreUnavailable)
    assert "make it (createdb)" in message


async def test_the_error_names_a_server_that_cannot_be_reached() -> None:
    message = await trouble_at("postgresql://me:secret@127.0.0.1:1/db", StoreUnavailable)
    assert "cannot be reached" in message
    assert "check that PostgreSQL runs there" in message


async def test_the_error_names_a_host_that_does_not_exist() -> None:
    message = await trouble_at("postgresql://me:secret@no.such.host.invalid/db", StoreUnavailable)
    assert "no.such.host.invalid" in message


async def test_the_error_names_the_privilege_that_is_missing_to_create_the_schema(
    server: Server,
) -> None:
    dsn = server.new_database()
    database = dsn.partition("@/")[2].partition("?")[0]
    server.run("DROP ROLE IF EXISTS guest", "CREATE ROLE guest LOGIN PASSWORD 'secret'")
    message = await trouble_at(
        server.tcp_dsn(database, user="guest", password=GIVEN), StoreUnavailable
    )
    assert "permission denied" in message
    assert "GRANT CREATE ON DATABASE" in message


async def test_a_role_with_privileges_on_the_tables_alone_can_use_the_store(server: Server) -> None:
    """The owner created the schema; the role of the program may only use its tables."""
    dsn = server.new_database()
    owner = PostgresStore(dsn)
    await owner.open()
    await owner.close()
    database = dsn.partition("@/")[2].partition("?")[0]
    run_at(
        dsn,
        "DROP ROLE IF EXISTS worker",
        "CREATE ROLE worker LOGIN PASSWORD 'secret'",
        "GRANT USAGE ON SCHEMA fairlane TO worker",
        "GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA fairlane TO worker",
    )
    store = PostgresStore(server.tcp_dsn(database, user="worker", password=GIVEN))
    await store.open()
    assert await store.lead() == 1
    job = a_job("a")
    await store.commit(admitted(job), NOW)
    await store.commit(started(job), NOW)
    await store.commit(ended(job), NOW)
    await store.append("k", "{}", NOW)
    assert [row.key for row in await store.read_inbox(1)] == ["k"]
    await store.close()


async def test_a_newer_schema_is_refused_and_left_unchanged(server: Server) -> None:
    dsn = server.new_database()
    store = PostgresStore(dsn)
    await store.open()
    await store.close()
    run_at(dsn, "INSERT INTO fairlane.migration (version, digest) VALUES (99, 0)")
    message = await trouble_at(dsn, SchemaTooNew)
    assert "version 99" in message
    assert f"up to {len(migrations())}" in message
    assert "upgrade Fairlane" in message


@pytest.mark.parametrize(
    "change",
    [
        "UPDATE fairlane.migration SET digest = digest + 1",
        "ALTER TABLE fairlane.migration DROP COLUMN digest",  # created before digests were stored
    ],
)
async def test_a_database_of_another_development_version_is_refused(
    server: Server, change: str
) -> None:
    dsn = server.new_database()
    store = PostgresStore(dsn)
    await store.open()
    await store.close()
    run_at(dsn, change)
    message = await trouble_at(dsn, StoreUnavailable)
    assert "created by another (development) version of Fairlane" in message
    assert "?fairlane_schema=" in message


async def test_a_diagnosis_reports_an_error_of_sql_as_a_finding(server: Server) -> None:
    dsn = server.new_database()
    store = PostgresStore(dsn)
    await store.open()
    await store.close()
    run_at(dsn, "DROP TABLE fairlane.dead_letter")
    found = {finding.subject: finding async for finding in diagnose(dsn)}
    assert found["tables"].level == "problem"
    assert "dead_letter" in found["tables"].message


async def test_a_schema_of_another_program_is_refused(server: Server) -> None:
    dsn = server.new_database()
    run_at(dsn, "CREATE SCHEMA fairlane", "CREATE TABLE fairlane.diary (text text)")
    assert "tables of another program" in await trouble_at(dsn, StoreUnavailable)


async def test_an_empty_schema_that_already_exists_is_used(server: Server) -> None:
    dsn = server.new_database()
    run_at(dsn, "CREATE SCHEMA fairlane")
    store = PostgresStore(dsn)
    await store.open()
    assert await store.lead() == 1
    await store.close()


async def test_two_schemas_of_one_database_are_independent(server: Server) -> None:
    dsn = server.new_database()
    one, two = PostgresStore(dsn), PostgresStore(f"{dsn}&fairlane_schema=other")
    for store in (one, two):
        await store.open()
        assert await store.lead() == 1
        await store.commit(admitted(a_job("a", lane="x", dedupe="d")), NOW)
    heard: dict[str, list[str]] = {"one": [], "two": []}
    await one.listen(heard["one"].append)
    await two.listen(heard["two"].append)
    await two.append("k", "{}", NOW)
    await eventually(lambda: INBOX in heard["two"])
    assert INBOX not in heard["one"]  # a notification of its own commit may arrive only now
    assert await one.read_inbox(5) == []
    assert (await two.leader() or "").startswith("process")
    await one.close()
    await two.close()


def test_a_server_that_is_too_old_is_refused() -> None:
    address = Address("postgresql://me:secret@host/db")
    refuse_old(14, address)
    with pytest.raises(StoreUnavailable, match="PostgreSQL 13; Fairlane needs 14 or newer"):
        refuse_old(13, address)


async def test_a_read_only_database_is_reported_and_the_leader_keeps_leading(
    store: PostgresStore, postgres_place: PostgresPlace
) -> None:
    leader = store._leadership._connection
    assert leader is not None
    await leader.execute("SET default_transaction_read_only = on")
    with pytest.raises(StoreUnavailable, match="it is read-only"):
        await store.commit(admitted(a_job("a")), NOW)
    await leader.execute("SET default_transaction_read_only = off")
    await store.commit(admitted(a_job("a")), NOW)


async def test_a_table_locked_by_another_session_is_reported_and_the_leader_keeps_leading(
    store: PostgresStore, postgres_place: PostgresPlace
) -> None:
    leader = store._leadership._connection
    assert leader is not None
    await leader.execute("SET lock_timeout = '20ms'")
    other = await asyncpg.connect(postgres_place.dsn)
    async with other.transaction():
        await other.execute("LOCK fairlane.job")
        with pytest.raises(StoreUnavailable, match="keeps a transaction open"):
            await store.commit(admitted(a_job("a")), NOW)
    await other.close()
    await store.commit(admitted(a_job("a")), NOW)


async def test_a_commit_that_takes_too_long_is_aborted(
    store: PostgresStore, postgres_place: PostgresPlace
) -> None:
    leader = store._leadership._connection
    assert leader is not None
    await leader.execute("SET statement_timeout = '20ms'")
    other = await asyncpg.connect(postgres_place.dsn)
    async with other.transaction():
        await other.execute("LOCK fairlane.job")
        with pytest.raises(StoreUnavailable, match="took too long"):
            await store.commit(admitted(a_job("a")), NOW)
    await other.close()


async def test_a_violated_constraint_raises_the_error_of_the_driver(store: PostgresStore) -> None:
    jobs = [a_job("a", lane="x"), a_job("b", lane="x")]
    await store.commit(admitted(*jobs), NOW)
    with pytest.raises(asyncpg.UniqueViolationError, match="running_lane"):
        await store.commit(started(*jobs), NOW)
    firing = Firing("nightly", NOW, JobId("a"), 1, None)
    with pytest.raises(asyncpg.UniqueViolationError, match="firing_pkey"):
        await store.commit(Changes(firings=[firing, firing]), NOW)


async def test_a_character_that_the_server_cannot_store_raises_the_error_of_the_driver(
    store: PostgresStore,
) -> None:
    with pytest.raises(asyncpg.UntranslatableCharacterError):
        await store.commit(admitted(a_job("a", lane="x\x00")), NOW)
    with pytest.raises(asyncpg.CharacterNotInRepertoireError):
        await store.append("k", "\x00", NOW)
    await store.append("k", "{}", NOW)


async def test_a_dead_letter_can_hold_any_character(store: PostgresStore) -> None:
    await store.commit(Changes(dead_letters=[("a\x00b", "c\x00d", NOW)]), NOW)


@pytest.mark.parametrize("text", ["", "plain", "a\x00b", "\x1a", "\x1a0\x001\x1a1", "\x00\x00"])
def test_text_with_any_character_survives_escaping(text: str) -> None:
    assert "\x00" not in escaped(text)
    assert plain(escaped(text)) == text


async def test_a_checkpoint_may_hold_any_character(store: PostgresStore) -> None:
    report = r'{"checkpoint":{"cursor":"a\u0000b","path":"\\u0000"}}'
    job = a_job("a", lane="x")
    changes = admitted(job)
    changes.reports = {job.id: report}
    await store.commit(changes, NOW)
    over = ended(started(job).changed[job.id])
    over.lanes = {("default", "x"): _adopting(job.id)}
    await store.commit(over, NOW)
    (lane,) = await store.lanes()
    assert lane.checkpoint == {"cursor": "a\N{REPLACEMENT CHARACTER}b", "path": r"\u0000"}


def _adopting(job: JobId) -> LaneChange:
    return LaneChange(adopt=job)


async def test_without_notify_no_notification_is_sent_and_rows_are_still_read(
    postgres_place: PostgresPlace,
) -> None:
    store = PostgresStore(f"{postgres_place.dsn}&fairlane_notify=off")
    loud = postgres_place.handle()
    await store.open()
    await loud.open()
    heard: list[str] = []
    await loud.listen(heard.append)
    await store.listen(heard.append)
    assert await store.lead() is not None
    await store.append("quiet", "{}", NOW)
    assert [row.key for row in await store.read_inbox(5)] == ["quiet"]
    await store.commit(Changes(events=events(1)), NOW)
    await loud.append("loud", "{}", NOW)
    await eventually(lambda: INBOX in heard)
    assert set(heard) == {"", INBOX}  # the empty name: its notifications arrive
    assert loud.is_listening
    assert not store.is_listening
    await store.close()
    await loud.close()


def test_an_address_names_its_store_without_its_password() -> None:
    address = "postgresql://me:s%40cret@host:5433/db?sslmode=require&fairlane_schema=jobs"
    store = store_at(address)
    assert isinstance(store, PostgresStore)
    assert store.address == "postgresql://me@host:5433/db?fairlane_schema=jobs"
    parsed = Address(address)
    assert parsed.dsn == "postgresql://me:s%40cret@host:5433/db?sslmode=require"
    assert parsed.without_secrets("tried s@cret and s%40cret") == "tried *** and ***"


def test_the_leader_can_have_a_separate_address(monkeypatch: pytest.MonkeyPatch) -> None:
    direct = "postgresql://me:secret@server/db"
    assert Address("postgresql://pooler/db").direct_dsn == "postgresql://pooler/db"
    given = Address(f"postgresql://pooler/db?fairlane_leader={quote(direct, safe='')}")
    assert given.direct_dsn == direct
    assert given.without_secrets("secret") == "***"
    monkeypatch.setenv("FAIRLANE_LEADER_DATABASE", direct)
    assert Address("postgresql://pooler/db").direct_dsn == direct


@pytest.mark.parametrize("source", ["fairlane_leader", "FAIRLANE_LEADER_DATABASE"])
async def test_an_error_of_the_leaders_address_names_the_address_and_its_source(
    postgres_dsn: str, monkeypatch: pytest.MonkeyPatch, source: str
) -> None:
    nowhere = "postgresql://me:secret@127.0.0.1:1/db"
    if source == "fairlane_leader":
        postgres_dsn += f"&fairlane_leader={quote(nowhere, safe='')}"
    else:
        monkeypatch.setenv(source, nowhere)
    with pytest.raises(StoreUnavailable) as caught:
        await PostgresStore(postgres_dsn).open()
    assert f"postgresql://me@127.0.0.1:1/db (from {source}" in caught.value.message
    assert "secret" not in caught.value.message


@pytest.mark.parametrize(
    ("direct", "said"),
    [
        ("mysql://me:secret@server/db", 'has the scheme "mysql"; expected the plain address'),
        ("postgresql://server/db?fairlane_schema=x", 'has the option "fairlane_schema"'),
        ("postgresql://me:sec#ret@server/db", "cannot be read"),
    ],
)
def test_an_invalid_address_of_the_leader_is_refused_at_once(
    monkeypatch: pytest.MonkeyPatch, direct: str, said: str
) -> None:
    monkeypatch.setenv("FAIRLANE_LEADER_DATABASE", direct)
    with pytest.raises(BadSetting) as caught:
        Address("postgresql://pooler/db")
    assert caught.value.message.startswith("FAIRLANE_LEADER_DATABASE")
    assert said in caught.value.message
    assert "sec" not in caught.value.message


@pytest.mark.parametrize(
    ("query", "said"),
    [
        ("fairlane_shema=x", '"fairlane_shema" is not an option'),
        ("fairlane_schema=My-Jobs", '"My-Jobs" cannot be the name of a schema'),
        ("fairlane_schema=pg_jobs", '"pg_jobs" cannot be the name of a schema'),
        ("fairlane_notify=no", 'fairlane_notify is "no"'),
    ],
)
def test_an_invalid_option_is_refused_with_the_reason(query: str, said: str) -> None:
    with pytest.raises(BadSetting) as caught:
        store_at(f"postgresql://me:secret@host/db?{query}")
    assert said in caught.value.message
    assert "secret" not in caught.value.message


async def test_an_option_that_the_driver_does_not_know_is_reported() -> None:
    store = PostgresStore("postgresql://me:secret@host/db?sslmode=sometimes")
    with pytest.raises(BadSetting) as caught:
        await store.open()
    assert "sslmode" in caught.value.message
    assert "secret" not in caught.value.message


async def test_a_connection_to_a_lost_server_closes_without_an_error(postgres_dsn: str) -> None:
    connection = await connect(Address(postgres_dsn))
    transport: Any = connection._transport  # type: ignore[attr-defined]
    transport.get_extra_info("socket").shutdown(socket.SHUT_WR)
    await connection.close()
    assert connection.is_closed()


async def test_a_store_that_is_not_open_raises_an_error_with_advice(postgres_dsn: str) -> None:
    store = PostgresStore(postgres_dsn)
    with pytest.raises(StoreUnavailable, match=r"call open\(\) first"):
        await store.read_snapshot()
    with pytest.raises(StoreUnavailable, match=r"call open\(\) first"):
        await store.lead()
    with pytest.raises(StoreUnavailable, match=r"call open\(\) first"):
        await store.append("k", "{}", NOW)
    await store.close()


def test_most_reads_of_the_inbox_start_above_the_consumed_rows() -> None:
    cursor = InboxCursor()
    assert cursor.floor(10.0) == 0
    cursor.read_whole(began=10.0, ended=10.5)  # slow: many dead rows that vacuum cannot remove
    cursor.consumed(7, 10.5)
    assert (
        cursor.floor(10.5 + LAG_SECONDS / 2) == 0
    )  # a row that was appended before may be committed late
    assert cursor.floor(10.5 + LAG_SECONDS * 2) == 7
    cursor.consumed(5, 11.0)
    assert cursor.floor(12.0) == 7
    assert cursor.floor(30.0) == 0


async def test_an_inbox_row_that_is_committed_late_is_read_although_later_rows_are_consumed(
    store: PostgresStore, postgres_place: PostgresPlace
) -> None:
    late = await asyncpg.connect(postgres_place.dsn)
    transaction = late.transaction()
    await transaction.start()
    await late.execute("INSERT INTO fairlane.inbox (key, body, at) VALUES ('late', '{}', 1)")
    for number in range(3):
        await store.append(f"early-{number}", "{}", NOW)
        rows = await store.read_inbox(10)
        await store.commit(Changes(consumed=[row.id for row in rows]), NOW)
    await transaction.commit()
    await late.close()
    found = await eventually(lambda: store.read_inbox(10))
    assert [row.key for row in found] == ["late"]
