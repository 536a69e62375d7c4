"""Functions that run as tasks in a child process, which must be able to import them."""

import asyncio
import os
import signal
import threading
import time
from contextlib import suppress
from pathlib import Path

from pydantic import SecretStr

from fairlane import Context, Give, Retryable, SyncContext
from tests.support.programs_processes import script


def process_id() -> int:
    return os.getpid()


async def process_id_of_coroutine() -> int:
    await asyncio.sleep(0)
    return os.getpid()


def shows_everything(ctx: SyncContext, path: str) -> list[str | int | None]:
    """Use each part of a context once."""
    ctx.log("hello from afar")
    ctx.report(downloaded=3)
    ctx.checkpoint["cursor"] = ctx.checkpoint.get("cursor", 0) + 1
    made = ctx.stage("making").run(str.upper, "abc", limits=["host"], uses={"gpu": 1})
    with ctx.output(path) as temporary:
        temporary.write_text("whole")
    return [made, ctx.job.lane, ctx.attempt]


async def coroutine_with_stage(ctx: Context) -> str:
    return str(await ctx.stage("making").run(process_id, fallback=Give(0)) != 0)


def waits_for_the_gpu(ctx: SyncContext) -> str:
    return str(ctx.stage("asr").run(str.upper, "done", uses={"gpu": 1}))


def asks_for_an_unknown_limit(ctx: SyncContext) -> None:
    ctx.stage("parsing").run(process_id, limits=["mastdon"])


def fails() -> None:
    raise Retryable("try later", after_seconds=7)


def dies() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def waits_for_permission(place: str) -> int:
    Path(place).write_text(str(os.getpid()))
    wait_for_file(Path(f"{place}.permission"))
    return os.getpid()


def wait_for_file(file: Path) -> None:
    while not file.exists():
        time.sleep(0.01)


def ignores_being_asked(place: str) -> None:
    Path(place).write_text(str(os.getpid()))
    while True:
        time.sleep(0.01)


def stops_when_asked(ctx: SyncContext, place: str) -> str:
    Path(place).write_text(str(os.getpid()))
    while not ctx.stopping:
        time.sleep(0.001)
    return "stopped"


def runs_a_family(ctx: SyncContext, folder: str) -> None:
    ctx.run(script("programs_family.py", folder))


async def logs_its_key(ctx: Context, key: SecretStr) -> int:
    ctx.log(f"the key is {key.get_secret_value()}")
    return os.getpid()


def logs_a_name_that_is_not_text(ctx: SyncContext) -> None:
    ctx.log("x\ud800y")


_next_job_runs, _logged_late = threading.Event(), threading.Event()


def leaves_a_thread_that_logs(ctx: SyncContext, key: SecretStr) -> int:
    """Return while a thread still runs, which logs when the next job runs in this process."""

    def log_late() -> None:
        _next_job_runs.wait(20)
        ctx.log(f"the key is {key.get_secret_value()}")
        _logged_late.set()

    threading.Thread(target=log_late, daemon=True).start()
    return os.getpid()


def waits_for_the_late_line() -> int:
    _next_job_runs.set()
    assert _logged_late.wait(20)
    return os.getpid()


def counts_in_a_stage(ctx: SyncContext) -> None:
    with ctx.stage("saving") as stage:
        stage.progress(40, "page 2 of 5")
        ctx.report(downloaded=12)
        while not ctx.stopping:
            time.sleep(0.001)


def blocks_in_a_stage(ctx: SyncContext, place: str, fallback: bool) -> str:
    """Run a function that never returns as a stage, with or without a fallback."""
    instead = Give("subtitles") if fallback else None
    return str(
        ctx.stage("asr").run(ignores_being_asked, place, timeout_seconds=0.5, fallback=instead)
    )


async def falls_back_to_the_same_gpu(ctx: Context, place: str) -> None:
    await ctx.stage("asr").run(
        ignores_being_asked, place, timeout_seconds=0.5, uses={"gpu": 1}, fallback=print
    )


def needs_the_gpu_after_a_time_out(ctx: SyncContext, place: str) -> str:
    """Leave a function behind that holds a gpu, and run a later stage that needs a gpu."""
    ctx.stage("asr").run(
        ignores_being_asked, place, timeout_seconds=0.5, uses={"gpu": 1}, fallback=Give(None)
    )
    return str(ctx.stage("rendering").run(str.upper, "film", uses={"gpu": 1}))


async def waits_for_the_gpu_beside_a_time_out(ctx: Context, place: str) -> None:
    """Let a stage wait for the gpu before the function that holds it is left behind."""

    async def render_later() -> None:
        await asyncio.to_thread(wait_for_file, Path(place))
        await ctx.stage("rendering").run(str.upper, "film", uses={"gpu": 1})

    async with asyncio.TaskGroup() as group:
        asr = ctx.stage("asr").run(
            ignores_being_asked, place, timeout_seconds=2.0, uses={"gpu": 1}, fallback=Give(None)
        )
        group.create_task(asr)
        group.create_task(render_later())


async def gives_up_waiting_for_the_gpu(ctx: Context, place: str) -> None:
    """Cancel a stage that waits for the gpu, and run on until the test permits the end."""
    with suppress(TimeoutError):
        async with asyncio.timeout(0.1):
            await ctx.stage("asr").run(process_id, uses={"gpu": 1})
    Path(place).touch()
    await asyncio.to_thread(wait_for_file, Path(f"{place}.permission"))
