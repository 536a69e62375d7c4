"""Behind a pooler a process can run jobs, but needs the direct address of the server to lead."""

import asyncio
import os
import shutil
import socket
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import quote

import pytest

from fairlane.core.decisions import Changes
from fairlane.core.live_job import WorkerId
from fairlane.errors import StoreUnavailable
from fairlane.store.postgres import PostgresStore
from tests.support.eventually import eventually, eventually_sync
from tests.support.postgres import Server, as_somebody, running_postgres
from tests.support.stores import NOW, a_job, admitted

POOLER = shutil.which("pgbouncer") or shutil.which("pgbouncer", path="/usr/sbin")

pytestmark = pytest.mark.skipif(
    POOLER is None, reason="pgbouncer is not installed (Debian: apt-get install pgbouncer)"
)


@pytest.fixture
def server() -> Iterator[Server]:
    with running_postgres() as server:
        yield server


@pytest.fixture(params=["transaction", "session"])
def mode(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def pooled_dsn(server: Server, mode: str) -> Iterator[str]:
    """The address of a database through a pooler that shares its connections between clients."""
    server.new_database()
    folder = Path(tempfile.mkdtemp(prefix="fairlane-pooler-"))
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    (folder / "users").write_text(f'"fairlane" "{server.password}"\n')
    (folder / "pooler.ini").write_text(
        f"[databases]\n"
        f"test_1 = host=127.0.0.1 port={server.port} dbname=test_1\n"
        f"[pgbouncer]\n"
        f"listen_addr = 127.0.0.1\nlisten_port = {port}\nunix_socket_dir =\n"
        f"auth_type = plain\nauth_file = {folder / 'users'}\n"
        f"pool_mode = {mode}\nlogfile = {folder / 'log'}\n"
    )
    somebody = as_somebody()
    for path in (folder, *folder.iterdir()):
        os.chown(path, somebody.get("user", -1), somebody.get("group", -1))
    process = subprocess.Popen(
        [str(POOLER), "-q", str(folder / "pooler.ini")],
        stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, **somebody,
    )  # fmt: skip

    def answers() -> bool:
        with socket.socket() as probe:
            return probe.connect_ex(("127.0.0.1", port)) == 0

    try:
        eventually_sync(answers)
        yield f"postgresql://fairlane:{server.password}@127.0.0.1:{port}/test_1"
    finally:
        process.kill()
        process.wait()
        shutil.rmtree(folder)


async def test_leading_is_refused_behind_a_pooler_in_transaction_mode(
    pooled_dsn: str, mode: str
) -> None:
    store = PostgresStore(pooled_dsn)
    await store.open()
    if mode == "transaction":
        for _ in range(3):
            with pytest.raises(StoreUnavailable, match="give the direct address of the server"):
                await store.lead()
    else:
        assert await store.lead() == 1
        await store.commit(admitted(a_job("a")), NOW)
    await store.close()


async def test_a_store_works_through_a_pooler_with_a_direct_address_for_the_leader(
    pooled_dsn: str, server: Server
) -> None:
    direct = quote(server.dsn("test_1"), safe="")
    leader = PostgresStore(f"{pooled_dsn}?fairlane_leader={direct}")
    other = PostgresStore(f"{pooled_dsn}?fairlane_leader={direct}")
    await leader.open()
    await other.open()
    assert await leader.lead() == 1
    assert await other.lead() is None
    heard: list[str] = []
    await other.listen(heard.append)
    await leader.commit(Changes(records={("worker", "w"): '{"name":"w"}'}), NOW)
    await leader.commit(Changes(messages=[(WorkerId("w"), 1, "go")]), NOW)
    await eventually(lambda: "w" in heard)
    lease = other.lease(WorkerId("w"))
    await lease.begin()
    assert (await lease.renew()).standing == "known"

    async def use(number: int) -> None:
        await other.append(f"k{number}", "{}", NOW)
        await other.send_report(f"s{number}", "{}", NOW)
        assert [message.body for message in await other.messages(WorkerId("w"), 0)] == ["go"]
        assert await other.answers(["k"]) == {}
        assert (await other.read_snapshot()).seq == 0

    await asyncio.gather(*(use(number) for number in range(20)))
    assert len(await leader.read_inbox(100)) == 40
    await lease.close()
    await leader.close()
    await other.close()
