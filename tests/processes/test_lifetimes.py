"""A process has one engine, also with concurrent starts and forks."""

import asyncio
import json
import sys
from asyncio.subprocess import PIPE
from pathlib import Path
from typing import Any

from tests.support.process_control import environment
from tests.support.programs_processes import script


async def played(folder: Path, *arguments: str) -> Any:
    """Run a script until it exits and return the JSON value that it printed."""
    process = await asyncio.create_subprocess_exec(
        *arguments, stdout=PIPE, stderr=PIPE, env=environment(PROCESS_APP_FOLDER=str(folder))
    )
    try:
        async with asyncio.timeout(40):
            out, err = await process.communicate()
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()
    assert process.returncode == 0, err.decode()
    return json.loads(out)


async def scene(folder: Path, name: str) -> Any:
    return await played(folder, *script("process_lifetimes.py", name))


async def test_concurrent_starts_create_one_engine(tmp_path: Path) -> None:
    found = await scene(tmp_path, "started_at_once")
    assert found == {"engines": 1, "ran here": True, "left": 0}


async def test_entering_an_app_twice_at_once_creates_one_engine(tmp_path: Path) -> None:
    found = await scene(tmp_path, "entered_at_once")
    assert found == {"engines": [0, 1], "told": 1, "left": 0}


async def test_two_apps_run_in_one_process_also_on_one_database(tmp_path: Path) -> None:
    found = await scene(tmp_path, "two_apps")
    assert found == {"results": [True, "other", True], "left": 0}


async def test_an_app_can_be_started_and_stopped_repeatedly(tmp_path: Path) -> None:
    assert await scene(tmp_path, "restarted") == {"left": 0}


async def test_a_forked_child_starts_its_engine_lazily_and_the_parent_continues(
    tmp_path: Path,
) -> None:
    assert await scene(tmp_path, "forked") == {
        "child": 0,
        "inherited": 0,
        "ran in the parent": True,
        "started lazily": 1,
        "parent went on": True,
    }


async def test_jobs_complete_while_the_process_forks_under_load(tmp_path: Path) -> None:
    found = await scene(tmp_path, "forked_under_load")
    assert found == {"codes": [0], "jobs": 400, "ran here": True}


async def test_a_forked_child_takes_over_when_its_parent_stops(tmp_path: Path) -> None:
    found = await scene(tmp_path, "parent_ends_first")
    assert found == {"child": 0, "ran in the child": True}


async def test_processes_of_multiprocessing_may_use_the_app_of_their_parent(tmp_path: Path) -> None:
    found = await scene(tmp_path, "multiprocessing_fork")
    assert found == {"codes": [0, 0, 0], "ran in the parent": True}


async def test_a_child_forked_inside_an_asyncio_program_may_enter_the_app_itself(
    tmp_path: Path,
) -> None:
    found = await scene(tmp_path, "forked_inside_asyncio")
    assert found == {"child": 0, "ran in the parent": True}


async def test_a_start_at_import_starts_no_engine_in_a_child_process(tmp_path: Path) -> None:
    """The module starts its app at import; it runs as a script and as an imported module."""
    threads = await played(tmp_path, *script("process_importing.py"))
    assert not [name for name in threads if name in ("fairlane", "fairlane-leader")]
    program = (
        "import json, sys\n"
        "from tests.support.process_importing import app, engines\n"
        "print(json.dumps(app.sync.submit(engines.call()).wait(timeout_seconds=20)))\n"
        "app.stop()\n"
    )
    threads = await played(tmp_path, sys.executable, "-c", program)
    assert not [name for name in threads if name in ("fairlane", "fairlane-leader")]
