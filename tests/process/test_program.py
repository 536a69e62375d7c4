"""Programs are started, read and ended with all their descendants."""

import asyncio
import os
import signal
import subprocess
import sys
import threading
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from fairlane.errors import Permanent, TaskError
from fairlane.process import program
from fairlane.process.process_group import ProcessDeadline
from fairlane.process.program import Program, run_program
from fairlane.runtime.clock import boot_seconds
from tests.support.eventually import eventually
from tests.support.programs_processes import all_gone, family, is_alive, script, survivors


def python(code: str) -> list[str]:
    return [sys.executable, "-I", "-S", "-c", code]


async def refused(argv: list[str], *, cwd: Path | None = None) -> TaskError:
    with pytest.raises(TaskError) as caught:
        await run_program(argv, cwd=cwd)
    return caught.value


@asynccontextmanager
async def worker(folder: Path, mode: str) -> AsyncIterator["subprocess.Popen[bytes]"]:
    """Run a worker process that has started a family of processes."""
    repository = Path(__file__).resolve().parents[2]
    process = subprocess.Popen(
        script("programs_worker.py", folder, mode),
        env=os.environ | {"PYTHONPATH": f"{repository / 'src'}{os.pathsep}{repository}"},
        stdout=subprocess.PIPE,
    )
    try:
        assert process.stdout is not None
        assert await asyncio.to_thread(process.stdout.readline) == b"started\n"
        yield process
    finally:
        process.kill()
        process.communicate()


async def test_a_program_gets_its_input_and_gives_back_code_and_output() -> None:
    finished = await run_program(
        ["sh", "-c", "cat; echo trouble >&2; exit 3"], input=b"hello", check=False
    )

    assert finished.returncode == 3
    assert finished.stdout_tail == "hello"
    assert finished.stderr_tail == "trouble\n"
    assert not finished.stdout_cut


async def test_a_program_without_input_reads_an_empty_stdin() -> None:
    assert (await run_program(["cat"])).stdout_tail == ""


async def test_a_program_that_does_not_read_its_input_ends_all_the_same() -> None:
    assert (await run_program(["true"], input=b"x" * 1_000_000)).returncode == 0


async def test_a_program_runs_in_its_folder_with_its_environment(tmp_path: Path) -> None:
    finished = await run_program(
        ["/bin/sh", "-c", "pwd; echo $GREETING; echo ${HOME-none}"],
        cwd=tmp_path,
        env={"GREETING": "hi"},
    )

    assert finished.stdout_tail.split() == [str(tmp_path), "hi", "none"]


async def test_arguments_arrive_as_they_are_and_no_shell_reads_them() -> None:
    odd = ["$HOME", "a b", "*", ";true", "", "日本", "\udcff"]
    code = "import os, sys; os.write(1, b'|'.join(map(os.fsencode, sys.argv[1:])))"

    finished = await run_program([*python(code), *odd])

    assert finished.stdout_tail == "$HOME|a b|*|;true||日本|\ufffd"


async def test_a_failure_shows_the_exit_code_and_the_end_of_stderr() -> None:
    error = await refused(["sh", "-c", "echo no such codec >&2; exit 69"])

    assert isinstance(error, Permanent)
    assert error.code == "program_failed"
    assert error.facts["returncode"] == 69
    assert error.facts["stderr_tail"] == "no such codec"
    assert "exited with 69" in error.message


async def test_a_death_by_signal_differs_from_an_exit_code() -> None:
    error = await refused(["sh", "-c", "kill -9 $$"])
    exited = await run_program(["sh", "-c", "exit 137"], check=False)

    assert error.facts["returncode"] == -signal.SIGKILL
    assert "SIGKILL" in error.message
    assert exited.returncode == 137


async def test_a_program_that_kills_its_whole_group_does_not_take_the_supervisor_along() -> None:
    finished = await run_program(["sh", "-c", "kill -9 0"], check=False)

    assert finished.returncode == -signal.SIGKILL


@pytest.mark.parametrize("argv", [[], [""], ["echo", "a\0b"], ["echo", 3], [b"echo"], "echo hello"])
async def test_arguments_that_no_program_can_have_are_refused(argv: list[str]) -> None:
    assert (await refused(argv)).code == "program_bad_arguments"


async def test_a_missing_program_is_named(tmp_path: Path) -> None:
    for name in ("no-such-program", "./no-such-program", str(tmp_path / "none")):
        error = await refused([name], cwd=tmp_path)
        assert error.code == "program_missing"
        assert name in error.message


async def test_a_script_whose_interpreter_is_missing_is_a_missing_program(tmp_path: Path) -> None:
    lost = tmp_path / "lost"
    lost.write_text("#!/no/such/interpreter\n")
    lost.chmod(0o755)

    assert (await refused([str(lost)])).code == "program_missing"


async def test_what_cannot_be_executed_is_refused(tmp_path: Path) -> None:
    plain = tmp_path / "plain"
    plain.write_text("text")
    no_header = tmp_path / "no-header"
    no_header.write_text("echo hi\n")
    no_header.chmod(0o755)

    for path in (plain, no_header, tmp_path):
        assert (await refused([str(path)])).code == "program_not_executable"


async def test_a_missing_folder_is_refused(tmp_path: Path) -> None:
    assert (await refused(["true"], cwd=tmp_path / "none")).code == "program_folder_missing"


async def test_arguments_too_long_for_the_system_are_refused() -> None:
    assert (await refused(["echo", "x" * 3_000_000])).code == "program_bad_arguments"


async def test_lines_reach_their_callbacks_whole_whatever_ends_them() -> None:
    out: list[str] = []
    err: list[str] = []

    await run_program(
        ["printf", r"one\ntwo\r\n10%%\r20%%\r\nh\303\251\n\nlast"], on_stdout=out.append
    )
    await run_program(["sh", "-c", "echo aside >&2"], on_stdout=out.append, on_stderr=err.append)

    assert out == ["one", "two", "10%", "20%", "hé", "", "last"]
    assert err == ["aside"]


async def test_bytes_that_are_not_utf8_do_not_break_a_line() -> None:
    lines: list[str] = []

    finished = await run_program(["printf", r"a\377\376b\n\303"], on_stdout=lines.append)

    assert lines == ["a\ufffd\ufffdb", "\ufffd"]
    assert finished.stdout_tail == "a\ufffd\ufffdb\n\ufffd"


async def test_huge_output_without_a_line_end_stays_in_bounds() -> None:
    sizes: list[int] = []
    size = 5_000_000
    code = f"import os\nfor _ in range({size // 50_000}): os.write(1, b'x' * 50_000)"

    finished = await run_program(
        python(code + "\nos.write(1, b'end')"), on_stdout=lambda line: sizes.append(len(line))
    )

    assert sum(sizes) == size + 3
    assert max(sizes) == program.LINE_CHARACTERS
    assert len(finished.stdout_tail) == program.TAIL_BYTES
    assert finished.stdout_tail.endswith("xend")
    assert finished.stdout_cut


async def test_an_exception_of_a_callback_kills_the_program_and_is_raised() -> None:
    def refuse(line: str) -> None:
        raise ValueError(line)

    with pytest.raises(ValueError, match="ready"):
        await run_program(["sh", "-c", "echo ready; sleep 1000"], on_stdout=refuse)


async def test_cancelling_ends_children_grandchildren_and_daemons_first(tmp_path: Path) -> None:
    running = asyncio.create_task(run_program(script("programs_family.py", tmp_path)))
    pids = await family(tmp_path)

    running.cancel()

    with pytest.raises(asyncio.CancelledError):
        await running
    assert survivors(pids) == []


async def test_a_family_that_ignores_sigterm_is_killed_after_its_grace(tmp_path: Path) -> None:
    program = await Program.start(script("programs_family.py", tmp_path, "stubborn"))
    pids = await family(tmp_path)

    await program.stop(grace_seconds=0.1)

    assert survivors(pids) == []
    assert (await program.wait()).returncode == -signal.SIGKILL


async def test_a_second_cancellation_cuts_the_grace_short(tmp_path: Path) -> None:
    argv = script("programs_family.py", tmp_path, "stubborn")
    running = asyncio.create_task(run_program(argv, grace_seconds=3600))
    pids = await family(tmp_path)

    running.cancel()
    await asyncio.sleep(0)  # the first cancellation is processed before the second
    running.cancel()

    with pytest.raises(asyncio.CancelledError):
        await running
    assert survivors(pids) == []


async def test_stopping_lets_a_program_finish_in_its_grace() -> None:
    lines: list[str] = []
    program = await Program.start(
        ["sh", "-c", "trap 'echo tidied; exit 5' TERM; echo ready; while :; do sleep 0.01; done"],
        on_stdout=lines.append,
    )
    await eventually(lambda: lines == ["ready"])

    await program.stop(grace_seconds=3600)

    assert (await program.wait()).returncode == 5
    assert lines == ["ready", "tidied"]


async def test_a_descendant_keeps_its_grace_though_the_program_ended_before_it() -> None:
    lines: list[str] = []
    slow = "trap 'sleep 0.2; echo tidied; exit' TERM; echo ready; while :; do sleep 0.01; done"
    program = await Program.start(
        ["sh", "-c", '"$@" & wait', "sh", "sh", "-c", slow], on_stdout=lines.append
    )
    await eventually(lambda: lines == ["ready"])

    await program.stop(grace_seconds=3600)

    assert lines == ["ready", "tidied"]


async def test_what_a_program_leaves_behind_is_killed_when_it_exits(tmp_path: Path) -> None:
    finished = await run_program(
        script("programs_family.py", tmp_path, "stubborn", "leave"), check=False
    )

    assert finished.returncode == 7
    assert survivors(await family(tmp_path)) == []


async def test_cancelling_while_a_program_starts_leaves_no_process(tmp_path: Path) -> None:
    mark = tmp_path / "pid"
    argv = ["sh", "-c", f"echo $$ > '{mark}.new'; mv '{mark}.new' '{mark}'; exec sleep 1000"]
    starting = asyncio.create_task(Program.start(argv))
    await asyncio.sleep(0)  # the supervisor has started, the program has not

    starting.cancel()

    with pytest.raises(asyncio.CancelledError):
        await starting
    assert not mark.exists() or not is_alive(int(mark.read_text()))


@pytest.mark.parametrize("mode", ["plain", "child"])
async def test_the_programs_of_a_killed_worker_are_killed(tmp_path: Path, mode: str) -> None:
    async with worker(tmp_path, mode) as process:
        pids = await family(tmp_path)

        process.kill()

        await all_gone(pids)


async def test_a_killed_workers_programs_end_though_a_fork_of_it_lives_on(tmp_path: Path) -> None:
    async with worker(tmp_path, "forked") as process:
        pids = await family(tmp_path)
        copy = int((tmp_path / "copy").read_text())

        process.kill()

        await all_gone(pids)
        assert is_alive(copy)
        os.kill(copy, signal.SIGKILL)


async def test_the_programs_of_a_worker_frozen_past_its_lease_are_killed(tmp_path: Path) -> None:
    async with worker(tmp_path, "leased") as process:
        pids = await family(tmp_path)

        process.send_signal(signal.SIGSTOP)

        await all_gone(pids)
        assert is_alive(process.pid)


async def test_a_renewed_lease_lets_a_program_live_on_and_a_missed_one_does_not() -> None:
    process_deadline = ProcessDeadline(boot_seconds() + 3600)
    program = await Program.start(["sleep", "1000"], process_deadline=process_deadline)

    await asyncio.to_thread(process_deadline.renew, boot_seconds() + 7200)
    assert is_alive(program.pid)
    await asyncio.to_thread(process_deadline.renew, boot_seconds())

    assert (await program.wait()).returncode == -signal.SIGKILL


async def test_a_killed_supervisor_is_noticed_and_its_group_ended(tmp_path: Path) -> None:
    program = await Program.start(script("programs_family.py", tmp_path))
    pids = await family(tmp_path)
    parent = Path(f"/proc/{program.pid}/stat").read_text().rpartition(")")[2].split()[1]

    os.kill(int(parent), signal.SIGKILL)

    assert (await program.wait()).returncode == -signal.SIGKILL
    group = {name: pids[name] for name in ("program", "child", "grandchild")}
    await all_gone(group)
    for left in ("other_session", "daemon"):  # out of reach without a supervisor
        os.kill(pids[left], signal.SIGKILL)


async def test_signals_that_a_terminal_sends_do_not_end_a_supervisor() -> None:
    program = await Program.start(["sleep", "1000"])
    supervisor = int(Path(f"/proc/{program.pid}/stat").read_text().rpartition(")")[2].split()[1])

    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT):
        os.kill(supervisor, number)

    assert os.getsid(supervisor) == supervisor != os.getsid(0)
    await program.stop(grace_seconds=3600)
    assert (await program.wait()).returncode == -signal.SIGTERM


def in_a_thread(run: Callable[[], None]) -> None:
    failures: list[BaseException] = []

    def guarded() -> None:
        try:
            run()
        except BaseException as error:  # noqa: BLE001 - raised again in the thread of the test
            failures.append(error)

    thread = threading.Thread(target=guarded)
    thread.start()
    thread.join()
    if failures:
        raise failures[0]


def test_programs_run_on_a_loop_that_is_not_in_the_main_thread(tmp_path: Path) -> None:
    async def several() -> None:
        finished = await asyncio.gather(*(run_program(["echo", str(n)]) for n in range(5)))
        assert [one.stdout_tail for one in finished] == [f"{n}\n" for n in range(5)]
        program = await Program.start(script("programs_family.py", tmp_path))
        pids = await family(tmp_path)
        await program.stop(grace_seconds=3600)
        assert survivors(pids) == []

    in_a_thread(lambda: asyncio.run(several()))


async def test_exit_codes_arrive_though_the_application_ignores_sigchld() -> None:
    before = signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    try:
        finished = await run_program(["sh", "-c", "exit 4"], check=False)
    finally:
        signal.signal(signal.SIGCHLD, before)

    assert finished.returncode == 4


async def test_no_descriptor_is_left_open() -> None:
    await run_program(["true"], input=b"x")
    before = sorted(os.listdir("/proc/self/fd"))  # noqa: PTH208

    await run_program(["true"], input=b"x")
    await refused(["sh", "-c", "exit 1"])
    await refused(["no-such-program"])
    await asyncio.sleep(0)  # a closed transport closes its file in the next turn of the loop

    assert sorted(os.listdir("/proc/self/fd")) == before  # noqa: PTH208


async def test_who_is_cancelled_while_pipes_are_connected_leaves_none_open(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    loop = asyncio.get_running_loop()
    connect = loop.connect_read_pipe

    async def interrupted(*args: Any) -> Any:
        task.cancel()
        await asyncio.sleep(0)
        return await connect(*args)

    def opened() -> int:
        return len(list(Path("/proc/self/fd").iterdir()))

    before = opened()
    monkeypatch.setattr(loop, "connect_read_pipe", interrupted)
    sleeping = python("import time; time.sleep(60)")
    task = asyncio.create_task(run_program(sleeping, input=b"text"))
    with pytest.raises(asyncio.CancelledError):
        await task
    await eventually(lambda: opened() == before, what="all pipes to be closed")
