"""While the database refuses writes, submissions are refused and running jobs continue."""

import os
import resource
import subprocess
from collections.abc import Iterator
from pathlib import Path

import apsw
import pytest

from tests.support.process_control import Bench, Program, Refused


class Disk:
    """A small separate file system."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def fill(self) -> None:
        with (self.folder / "ballast").open("wb", buffering=0) as ballast:
            for size in (64 * 1024, 1):
                try:
                    while True:
                        ballast.write(b"x" * size)
                except OSError:
                    continue

    def free(self) -> None:
        (self.folder / "ballast").unlink()


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[Disk]:
    folder = tmp_path / "disk"
    folder.mkdir()
    options = ["-t", "tmpfs", "-o", "size=4m", "tmpfs"]
    if os.geteuid() != 0 or subprocess.run(["mount", *options, folder], check=False).returncode:
        pytest.skip("only root can mount a small file system, and not everywhere")
    yield Disk(folder)
    subprocess.run(["umount", "--lazy", folder], check=True)


@pytest.fixture
async def bench_on_disk(bench: Bench, disk: Disk) -> Bench:
    bench.database = disk.folder / "work.db"
    return bench


async def refused(program: Program) -> Refused:
    """Submit a job that is too large for the free space, and return the error."""
    with pytest.raises(Refused) as caught:
        await program.submit("gated", name="n" * 200_000)
    return caught.value


async def test_with_a_full_disk_submissions_are_refused_and_running_jobs_continue(
    bench_on_disk: Bench, disk: Disk
) -> None:
    bench = bench_on_disk
    program = await bench.program()
    job = await program.submit("bulky", name="y")
    await bench.written("start", "y")
    disk.fill()
    error = await refused(program)
    assert error.type == "StoreUnavailable"
    assert "the disk is full" in str(error)
    bench.open("open")
    await bench.written("end", "y")
    assert (await refused(program)).type == "StoreUnavailable"
    assert await program.state(job) == "running"

    disk.free()
    assert await program.ask("wait", job=job) == "y" * 100
    later = await program.submit("gated", name="later")
    assert await program.ask("wait", job=later) == "later"
    assert bench.names("start") == ["y", "later"]


async def test_a_program_continues_when_a_limit_on_its_file_size_is_lifted(bench: Bench) -> None:
    """A limit on file sizes replaces the full disk, which needs a separate file system."""
    program = await bench.program()
    job = await program.submit("bulky", name="y")
    await bench.written("start", "y")
    most = resource.prlimit(program.pid, resource.RLIMIT_FSIZE)[1]
    # Both commits are larger than this limit, and the journal is smaller.
    resource.prlimit(program.pid, resource.RLIMIT_FSIZE, (150_000, most))
    assert (await refused(program)).type == "StoreUnavailable"
    bench.open("open")
    await bench.written("end", "y")
    assert (await refused(program)).type == "StoreUnavailable"
    assert await program.state(job) == "running"
    resource.prlimit(program.pid, resource.RLIMIT_FSIZE, (most, most))
    assert await program.ask("wait", job=job) == "y" * 100
    later = await program.submit("gated", name="later")
    assert await program.ask("wait", job=later) == "later"
    assert bench.names("start") == ["y", "later"]


async def test_a_program_continues_when_another_program_unlocks_the_database(bench: Bench) -> None:
    program = await bench.program()
    job = await program.submit("gated", name="runs")
    await bench.written("start", "runs")
    other = apsw.Connection(str(bench.database))
    other.execute("BEGIN IMMEDIATE")
    with pytest.raises(Refused, match="stayed locked by another program"):
        await program.submit("gated", name="refused")
    bench.open("open")
    await bench.written("end", "runs")
    other.execute("ROLLBACK")
    other.close()
    assert await program.ask("wait", job=job) == "runs"
    later = await program.submit("gated", name="later")
    assert await program.ask("wait", job=later) == "later"
    assert bench.names("start") == ["runs", "later"]


async def test_a_leader_that_cannot_write_keeps_leading_while_its_job_runs(bench: Bench) -> None:
    """Only the leader cannot write; if it resigned, its running job would count as crashed."""
    leader = await bench.program()
    standby = await bench.program()
    job = await leader.submit("bulky", name="y")
    await bench.written("start", "y")
    most = resource.prlimit(leader.pid, resource.RLIMIT_FSIZE)[1]
    resource.prlimit(leader.pid, resource.RLIMIT_FSIZE, (150_000, most))
    for _ in range(4):
        assert (await refused(leader)).type == "StoreUnavailable"
    assert bench.names("start") == ["y"]
    assert not await standby.ask("is_leading")
    resource.prlimit(leader.pid, resource.RLIMIT_FSIZE, (most, most))
    bench.open("open")
    assert await standby.ask("wait", job=job) == "y" * 100
    assert bench.names("start") == ["y"]


async def test_a_submission_on_a_standby_is_refused_when_the_disk_is_full(
    bench_on_disk: Bench, disk: Disk
) -> None:
    bench = bench_on_disk
    await bench.program()
    standby = await bench.program()
    disk.fill()
    assert (await refused(standby)).type == "StoreUnavailable"
    disk.free()
    bench.open("open")
    job = await standby.submit("gated", name="later")
    assert await standby.ask("wait", job=job) == "later"
