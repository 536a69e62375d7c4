"""Run many chains of power cuts, several in parallel."""

import asyncio
import json
import os
import sys
from asyncio.subprocess import PIPE
from collections.abc import Callable
from pathlib import Path

from chaos.processes import end, environment
from chaos.result import Result

CUTS_PER_CHAIN = 25


async def power_cuts(
    folder: Path, result: Result, *, seed: int, times: int, tick: Callable[[], None],
    only_chain: int | None = None, synchronous: str | None = None,
) -> None:  # fmt: skip
    """Cut the power `times` times, spread over chains with a database each."""
    chains: list[tuple[int, int]] = []  # number of the chain, and its cuts
    while (done := sum(cuts for _, cuts in chains)) < times:
        chains.append((len(chains) + 1, min(CUTS_PER_CHAIN, times - done)))
    turn = asyncio.Semaphore(os.cpu_count() or 1)

    async def one(number: int, cuts: int) -> None:
        async with turn:
            await _chain(folder, result, seed, number, cuts, tick, synchronous)

    async with asyncio.TaskGroup() as group:
        for number, cuts in chains:
            if only_chain in (None, number):
                group.create_task(one(number, cuts))


async def _chain(
    folder: Path, result: Result, seed: int, number: int, cuts: int, tick: Callable[[], None],
    synchronous: str | None,
) -> None:  # fmt: skip
    place = folder / f"chain-{number}"
    arguments = [place, "--seed", seed, "--chain", number, "--cuts", cuts]
    if synchronous is not None:
        arguments += ["--synchronous", synchronous]
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "chaos.power_cut_chain", *map(str, arguments)),
        stdout=PIPE, stderr=PIPE, env=environment(place, place, str(seed)),
    )  # fmt: skip
    assert process.stdout is not None
    assert process.stderr is not None
    errors = asyncio.create_task(process.stderr.read())
    acknowledged = 0
    try:
        while line := await process.stdout.readline():
            cut = json.loads(line)
            if cut["number"] <= cuts:
                result.count("power cuts")
                result.count(_what(cut["where"]))
                tick()
            result.count("integrity checks")
            acknowledged = cut["acknowledged"]
            problems = [f"chain {number}, cut {cut['number']}: {p}" for p in cut["problems"]]
            if problems and "--chain" not in result.again:
                result.again += ["--chain", str(number)]
            result.found("lost, undone or out of order", problems)
    finally:
        if not process.stdout.at_eof():
            await end(process)
        code = await process.wait()
    result.count("jobs acknowledged", acknowledged)
    said = (await errors).decode().strip()
    if code or (said and "Traceback" in said):
        result.problem(f"chain {number} ended with the code {code}: {said[-2000:]}")


def _what(where: str) -> str:
    """Return one name for cuts before and after the same step."""
    step = where.removeprefix("before ").removeprefix("after ").replace("wal", "log")
    return f"of these {step}" if step == where else f"of these at {step}"
