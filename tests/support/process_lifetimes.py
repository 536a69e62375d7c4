"""Ways to start an engine in one process: `process_lifetimes.py SCENE FOLDER`.

Each scene checks itself and prints its result as one JSON line; a failed check is a traceback and
an exit code.
"""

import asyncio
import json
import multiprocessing
import os
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from fairlane import Fairlane, UsageError

FOLDER = Path(os.environ["PROCESS_APP_FOLDER"])

app = Fairlane(f"sqlite:///{FOLDER}/work.db", stop_grace_seconds=0)


@app.task
async def where(ctx: Any) -> int:
    return os.getpid()


def leaders() -> int:
    return sum(thread.name == "fairlane-leader" for thread in threading.enumerate())


def run_one() -> int:
    return int(app.sync.submit(where.call()).wait(timeout_seconds=20))


def started_at_once() -> dict[str, Any]:
    """Eight threads start one app at the same moment."""
    barrier = threading.Barrier(8)

    def start() -> None:
        barrier.wait()
        app.start()

    with ThreadPoolExecutor(8) as threads:
        for done in [threads.submit(start) for _ in range(8)]:
            done.result()
    found = leaders()
    ran = run_one()
    app.stop()
    return {"engines": found, "ran here": ran == os.getpid(), "left": leaders()}


def entered_at_once() -> dict[str, Any]:
    """Two coroutines enter one app at the same moment: one engine starts, and the second entry is
    refused."""
    told: list[str] = []

    async def enter() -> int:
        try:
            async with app:
                found = leaders()
                await asyncio.wait_for((await where.submit()).wait(), 20)
                return found
        except UsageError as error:
            told.append(str(error))
            return 0

    async def both() -> list[int]:
        return list(await asyncio.gather(enter(), enter()))

    found = asyncio.run(both())
    return {"engines": sorted(found), "told": len(told), "left": leaders()}


def two_apps() -> dict[str, Any]:
    """Two programs in one process, on two databases and on the same one."""
    other = Fairlane(f"sqlite:///{FOLDER}/other.db", stop_grace_seconds=0)
    same = Fairlane(f"sqlite:///{FOLDER}/work.db", stop_grace_seconds=0)

    @other.task(name="where")
    async def elsewhere() -> str:
        return "other"

    @same.task(name="where")
    async def twice() -> str:
        return "same"

    for each in (app, other, same):
        each.start()
    results = [
        run_one() == os.getpid(),
        other.sync.submit(elsewhere.call()).wait(timeout_seconds=20),
        # The first app leads this database, so its function of that name runs.
        same.sync.jobs.wait(same.sync.submit(twice.call()).id).result == os.getpid(),
    ]
    for each in (same, other, app):
        each.stop()
    return {"results": results, "left": leaders()}


def restarted() -> dict[str, Any]:
    """Stop and start again, and start a running app."""
    for _ in range(3):
        app.start()
        app.start()
        run_one()
        app.stop()
        app.stop()
    return {"left": leaders()}


def forked() -> dict[str, Any]:
    """Fork after the start: the child starts lazily, the parent continues, and neither disturbs the
    other."""
    app.start()
    before = run_one()
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        code = 1
        try:
            inherited = leaders()
            # The parent keeps leading, so the parent runs the jobs of the child.
            ran = run_one()
            os.write(writing, json.dumps([inherited, ran, leaders()]).encode())
            app.stop()
            code = 0
        finally:
            os._exit(code)
    os.close(writing)
    after = run_one()
    inherited, ran, lazily = json.loads(os.read(reading, 1000))
    _, status = os.waitpid(child, 0)
    last = run_one()
    app.stop()
    me = os.getpid()
    return {
        "child": os.waitstatus_to_exitcode(status),
        "inherited": inherited,
        "ran in the parent": ran == me,
        "started lazily": lazily,
        "parent went on": [before, after, last] == [me] * 3,
    }


def forked_under_load() -> dict[str, Any]:
    """Fork repeatedly while jobs are submitted and run."""
    app.start()
    jobs: list[Any] = []

    def submit() -> None:
        for _ in range(40):
            jobs.extend(app.sync.submit_many([where.call() for _ in range(10)]))

    submitting = threading.Thread(target=submit)
    submitting.start()
    codes: set[int] = set()
    while submitting.is_alive() or not codes:
        child = os.fork()
        if child == 0:
            os._exit(0)
        codes.add(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
    submitting.join()
    ran = {job.wait(timeout_seconds=20) for job in jobs}
    app.stop()
    return {"codes": sorted(codes), "jobs": len(jobs), "ran here": ran == {os.getpid()}}


def parent_ends_first() -> dict[str, Any]:
    """The parent stops after a fork; its child takes over and runs its own jobs."""
    app.start()
    go, going = os.pipe()
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        code = 1
        try:
            os.read(go, 1)
            os.write(writing, json.dumps(run_one() == os.getpid()).encode())
            app.stop()
            code = 0
        finally:
            os._exit(code)
    os.close(writing)
    app.stop()
    os.write(going, b"x")
    ran = json.loads(os.read(reading, 1000))
    _, status = os.waitpid(child, 0)
    return {"child": os.waitstatus_to_exitcode(status), "ran in the child": ran}


def _in_process(answers: Any) -> None:
    answers.put((os.getpid(), run_one()))
    app.stop()


def multiprocessing_fork() -> dict[str, Any]:
    app.start()
    run_one()
    fork = multiprocessing.get_context("fork")
    answers = fork.Queue()
    processes = [fork.Process(target=_in_process, args=(answers,)) for _ in range(3)]
    for process in processes:
        process.start()
    ran = [answers.get(timeout=30)[1] for _ in processes]
    for process in processes:
        process.join(30)
    app.stop()
    return {
        "codes": [process.exitcode for process in processes],
        "ran in the parent": set(ran) == {os.getpid()},
    }


def forked_inside_asyncio() -> dict[str, Any]:
    """Fork under `async with app`: the child may enter the app on a new loop."""

    def child_work() -> int:
        asyncio.events._set_running_loop(None)

        async def main() -> int:
            async with app:
                return await asyncio.wait_for((await where.submit()).wait(), 20)

        return asyncio.run(main())

    async def main() -> tuple[int, int]:
        async with app:
            reading, writing = os.pipe()
            child = os.fork()
            if child == 0:
                code = 1
                try:
                    os.write(writing, str(child_work()).encode())
                    code = 0
                finally:
                    os._exit(code)
            os.close(writing)
            ran = int(await asyncio.to_thread(os.read, reading, 100))
            _, status = await asyncio.to_thread(os.waitpid, child, 0)
            await asyncio.wait_for((await where.submit()).wait(), 20)
            return ran, os.waitstatus_to_exitcode(status)

    ran, code = asyncio.run(main())
    return {"child": code, "ran in the parent": ran == os.getpid()}


SCENES = {
    function.__name__: function
    for function in (
        started_at_once, entered_at_once, two_apps, restarted, forked, forked_under_load,
        parent_ends_first,
        multiprocessing_fork, forked_inside_asyncio,
    )
}  # fmt: skip

if __name__ == "__main__":
    sys.stdout.write(json.dumps(SCENES[sys.argv[1]]()) + "\n")
