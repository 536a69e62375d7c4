"""Each problem of a file raises one error with advice."""

import os
from collections.abc import AsyncIterator
from pathlib import Path

import apsw
import pytest

from fairlane.core.live_job import JobId
from fairlane.errors import (
    BadSetting,
    DatabaseCorrupt,
    NotLeading,
    SchemaTooNew,
    StoreError,
    StoreUnavailable,
)
from fairlane.store.memory.store import MemoryStore
from fairlane.store.open_store import store_at
from fairlane.store.sqlite import SQLiteStore
from fairlane.store.sqlite.connection import connect
from fairlane.store.sqlite.leader_lock import LeaderLock
from fairlane.store.sqlite.migrate import APPLICATION_ID, migrations
from fairlane.store.sqlite.network_file_system import kind_of_mount, refuse_network_file_system
from tests.support.stores import NOW, a_job, admitted, started


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "work.db"


@pytest.fixture
async def store(path: Path) -> AsyncIterator[SQLiteStore]:
    store = SQLiteStore(path)
    await store.open()
    await store.lead()
    yield store
    await store.close()


async def trouble_at(path: Path, kind: type[StoreError]) -> str:
    """Open a store that cannot be opened and return the message, which names the file."""
    with pytest.raises(kind) as caught:
        await SQLiteStore(path).open()
    assert str(path) in caught.value.message or path.name in caught.value.message
    return caught.value.message


def test_every_setting_of_a_connection_is_applied(path: Path) -> None:
    connection = connect(path, cache_kib=256)
    names = ("journal_mode", "synchronous", "wal_autocheckpoint", "journal_size_limit")
    assert [connection.pragma(name) for name in names] == ["wal", 2, 4000, 64 * 1024 * 1024]
    assert [connection.pragma(name) for name in ("foreign_keys", "temp_store")] == [0, 2]
    connection.close()


async def test_a_newer_schema_is_refused_and_left_unchanged(path: Path) -> None:
    store = SQLiteStore(path)
    await store.open()
    await store.close()
    connection = apsw.Connection(str(path))
    connection.pragma("user_version", 99)
    connection.close()
    message = await trouble_at(path, SchemaTooNew)
    assert "version 99" in message
    assert "knows up to 1" in message
    assert "upgrade Fairlane" in message


async def test_a_database_of_another_development_version_is_refused(path: Path) -> None:
    """Before a release the first script is edited, so equal version numbers say little."""
    script = migrations()[0]
    connection = apsw.Connection(str(path))
    connection.execute(script.replace("dead_letter", "set_aside"))
    connection.pragma("application_id", APPLICATION_ID)
    connection.pragma("user_version", 1)
    connection.close()
    message = await trouble_at(path, StoreUnavailable)
    assert "created by another (development) version of Fairlane" in message
    assert "move the file away" in message


async def test_a_database_whose_scripts_differ_is_refused(path: Path) -> None:
    store = SQLiteStore(path)
    await store.open()
    await store.close()
    connection = apsw.Connection(str(path))
    connection.execute("UPDATE meta SET value = value + 1 WHERE name = 'migration 1'")
    assert connection.changes() == 1
    connection.close()
    assert "another (development) version" in await trouble_at(path, StoreUnavailable)


async def test_a_file_that_is_no_database_is_refused_and_left_unchanged(path: Path) -> None:
    path.write_text("dear diary, " * 1000)
    assert "is not a Fairlane database" in await trouble_at(path, DatabaseCorrupt)
    assert path.read_text().startswith("dear diary")


async def test_the_database_of_another_program_is_refused(path: Path) -> None:
    connection = apsw.Connection(str(path))
    connection.execute("CREATE TABLE diary (text)")
    connection.close()
    assert "another program's database" in await trouble_at(path, StoreUnavailable)


async def test_a_read_of_a_damaged_database_raises_an_error_with_advice(path: Path) -> None:
    store = SQLiteStore(path)
    await store.open()
    await store.lead()
    await store.commit(admitted(*(a_job(f"{n:04}", n) for n in range(2000))), NOW)
    await store.close()
    whole = path.read_bytes()
    path.write_bytes(whole[: 4096 * 2] + b"\x5a" * (len(whole) - 4096 * 2))
    store = SQLiteStore(path)

    async def look() -> None:
        await store.open()
        await store.read_snapshot()

    with pytest.raises(DatabaseCorrupt, match="put back a backup"):
        await look()
    await store.close()


async def test_the_error_names_a_missing_folder(tmp_path: Path) -> None:
    message = await trouble_at(tmp_path / "nowhere" / "work.db", StoreUnavailable)
    assert f"the folder {tmp_path / 'nowhere'}" in message
    assert "does not exist" in message


async def test_the_error_names_a_file_in_the_place_of_the_folder(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    assert "does not exist" in await trouble_at(tmp_path / "file" / "work.db", StoreUnavailable)


async def test_a_folder_in_the_place_of_the_file_is_refused(path: Path) -> None:
    path.mkdir()
    assert "cannot be opened" in await trouble_at(path, StoreUnavailable)


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write whatever the permissions say")
async def test_a_folder_without_write_permission_is_refused(tmp_path: Path) -> None:
    tmp_path.chmod(0o500)
    try:
        await trouble_at(tmp_path / "work.db", StoreUnavailable)
    finally:
        tmp_path.chmod(0o700)


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write whatever the permissions say")
async def test_a_file_without_write_permission_is_refused(path: Path) -> None:
    store = SQLiteStore(path)
    await store.open()
    await store.close()
    path.chmod(0o400)
    assert "read-only" in await trouble_at(path, StoreUnavailable)


async def test_a_file_on_a_read_only_file_system_is_refused() -> None:
    """No user can create files in /proc, not even root."""
    await trouble_at(Path("/proc/work.db"), StoreUnavailable)


async def test_a_commit_is_refused_on_a_full_disk_and_succeeds_when_there_is_space(
    store: SQLiteStore,
) -> None:
    def limit(connection: apsw.Connection) -> int:
        pages = int(connection.pragma("page_count"))
        connection.pragma("max_page_count", pages + 2)
        return pages

    store._leader.run(limit)
    jobs = [a_job(f"{n:04}", n) for n in range(1000)]
    with pytest.raises(StoreUnavailable, match="the disk is full"):
        await store.commit(admitted(*jobs), NOW)
    assert list((await store.load()).jobs) == []
    store._leader.run(lambda connection: connection.pragma("max_page_count", 1_000_000))
    await store.commit(admitted(*jobs), NOW)
    assert len(list((await store.load()).jobs)) == 1000


async def test_a_database_locked_by_another_program_is_reported(
    path: Path, store: SQLiteStore
) -> None:
    other = apsw.Connection(str(path))
    other.execute("BEGIN IMMEDIATE")
    store._leader.run(lambda connection: connection.set_busy_timeout(1))
    with pytest.raises(StoreUnavailable, match="stayed locked"):
        await store.commit(admitted(a_job("a")), NOW)
    other.execute("COMMIT")
    other.close()
    await store.commit(admitted(a_job("a")), NOW)


async def test_a_violated_constraint_raises_the_error_of_the_driver(store: SQLiteStore) -> None:
    jobs = [a_job("a", lane="x"), a_job("b", lane="x")]
    await store.commit(admitted(*jobs), NOW)
    with pytest.raises(apsw.ConstraintError, match=r"job\.queue, job\.lane"):
        await store.commit(started(*jobs), NOW)


async def test_a_commit_with_an_old_epoch_is_refused_by_the_database(
    path: Path, store: SQLiteStore
) -> None:
    """The lock file was deleted, so a second process can lead; the first must detect it."""
    (path.parent / "work.db.lock").unlink()
    second = SQLiteStore(path)
    await second.open()
    assert await second.lead() == 2
    with pytest.raises(NotLeading, match="another process leads"):
        await store.commit(admitted(a_job("a")), NOW)
    await second.commit(admitted(a_job("b")), NOW)
    assert list(await second.jobs([JobId("a"), JobId("b")])) == ["b"]
    await second.close()


async def test_a_store_that_is_not_open_raises_an_error_with_advice(path: Path) -> None:
    store = SQLiteStore(path)
    with pytest.raises(StoreUnavailable, match=r"call open\(\) first"):
        await store.read_snapshot()
    with pytest.raises(StoreUnavailable, match=r"call open\(\) first"):
        await store.lead()
    await store.close()


MOUNTS = """\
27 1 254:0 / / rw,relatime - ext4 /dev/vda rw
40 27 0:40 / /mnt/share\\040one rw,relatime shared:5 - cifs //server/share rw
41 27 0:41 / /home rw,relatime - nfs4 server:/home rw
42 41 0:42 / /home/me/local rw,relatime - xfs /dev/vdb rw
43 27 0:43 / /twice rw,relatime - ext4 /dev/vdc rw
44 27 0:44 / /twice rw,relatime - fuse.sshfs host: rw
"""


@pytest.mark.parametrize(
    ("path", "kind"),
    [
        ("/srv/work.db", "ext4"),
        ("/mnt/share one/work.db", "cifs"),
        ("/home/me/work.db", "nfs4"),
        ("/home/me/local/work.db", "xfs"),
        ("/homely/work.db", "ext4"),
        ("/twice/work.db", "fuse.sshfs"),
    ],
)
def test_the_file_system_of_a_path_is_that_of_its_nearest_mount(path: str, kind: str) -> None:
    assert kind_of_mount(Path(path), MOUNTS) == kind


def test_a_network_file_system_is_refused_with_advice() -> None:
    with pytest.raises(StoreUnavailable, match=r"network file system \(nfs4\).*local disk"):
        refuse_network_file_system(Path("/home/me/work.db"), mounts=MOUNTS)
    refuse_network_file_system(Path("/srv/work.db"), mounts=MOUNTS)


def test_an_address_names_its_store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    relative, absolute = store_at("sqlite:///work.db"), store_at("sqlite:////data/work.db")
    assert isinstance(relative, SQLiteStore)
    assert isinstance(absolute, SQLiteStore)
    assert relative.path == tmp_path / "work.db"
    assert absolute.path == Path("/data/work.db")
    assert absolute.address == "sqlite:////data/work.db"
    assert isinstance(store_at("memory://"), MemoryStore)


@pytest.mark.parametrize(
    ("address", "said"),
    [
        ("postgresql://", '"postgresql://" names no database'),
        ("mysql://me:secret@host/db", '"mysql://" is not a database Fairlane knows'),
        ("work.db", '"work.db" is not the address of a database'),
        ("sqlite://work.db", '"sqlite://work.db" names no database'),
        ("sqlite:///", '"sqlite:///" names no database'),
        ("memory://name", '"memory://name" names no database'),
    ],
)
def test_an_invalid_address_is_refused_with_the_expected_form(address: str, said: str) -> None:
    with pytest.raises(BadSetting) as caught:
        store_at(address)
    assert said in caught.value.message
    assert "sqlite:///work.db" in caught.value.message
    assert "secret" not in caught.value.message


def test_a_lock_file_that_cannot_be_written_is_a_store_that_is_unavailable() -> None:
    lock = LeaderLock(Path("/dev/full"), id="a")
    with pytest.raises(StoreUnavailable, match="the lock file /dev/full cannot be written"):
        lock.acquire()
    assert not lock.held
