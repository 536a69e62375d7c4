"""Programs that are stopped by a signal or a request."""

import signal
from pathlib import Path

import apsw
import pytest

from tests.support.eventually import eventually
from tests.support.process_control import Bench
from tests.support.programs_processes import family, survivors


@pytest.mark.parametrize("asked", [signal.SIGTERM, signal.SIGINT])
async def test_a_program_hands_back_its_running_jobs_on_a_signal(
    bench: Bench, asked: signal.Signals
) -> None:
    program = await bench.program()
    jobs = [
        await program.submit("gated", name="coroutine"),
        await program.submit("plain", name="thread"),
    ]
    for name in ("coroutine", "thread"):
        await bench.written("start", name)
    program.send(asked)
    await program.ended()

    program = await bench.program()
    for name in ("coroutine", "thread"):
        await bench.written("start", name, times=2)
    for job in jobs:
        view = await program.ask("show", job=job)
        assert (view["state"], view["crashes"]) == ("running", 0)


async def test_a_clean_stop_leaves_one_intact_file_and_no_worker_record(bench: Bench) -> None:
    program = await bench.program()
    await program.submit("gated", name="running")
    await bench.written("start", "running")
    program.send(signal.SIGTERM)
    await program.ended()
    assert not (bench.folder / "work.db-wal").exists()
    connection = apsw.Connection(str(bench.folder / "work.db"), flags=apsw.SQLITE_OPEN_READONLY)
    assert connection.pragma("integrity_check") == "ok"
    states = connection.execute("SELECT state FROM job").fetchall()
    workers = connection.execute("SELECT name FROM record WHERE kind = 'worker'").fetchall()
    connection.close()
    assert (states, workers) == ([("queued",)], [])


async def test_a_job_may_submit_another_while_its_program_stops(bench: Bench) -> None:
    program = await bench.program()
    await program.submit("submits_when_stopped", name="last words")
    await bench.written("start", "last words")
    bench.open("open")
    await program.stop()
    assert program.stopped_cleanly
    await bench.program()
    await bench.written("end", "after last words")


async def test_child_processes_end_when_their_program_stops(bench: Bench, tmp_path: Path) -> None:
    program = await bench.program()
    folder = tmp_path / "family"
    folder.mkdir()
    job = await program.submit("family", folder=str(folder))
    pids = await family(folder)
    await program.stop()
    await eventually(lambda: not survivors(pids), what="the end of the family")
    for member in pids:
        (folder / member).unlink()
    program = await bench.program()
    await family(folder)
    view = await program.ask("show", job=job)
    assert (view["state"], view["crashes"], view["attempt"]) == ("running", 0, 2)
