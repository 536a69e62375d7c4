"""A program that uses Fairlane, as a type checker sees it.

This file is only checked by mypy and never run. Each `type: ignore` stands where a wrong use must
be an error: an unused ignore is an error too (`warn_unused_ignores`).
"""

from typing import assert_type

from fairlane import Call, Context, Fairlane, Job, Priority, SyncContext, Task

app = Fairlane("memory://")


@app.task
async def bare(ctx: Context, name: str, times: int = 1) -> list[str]:
    return [name] * times


@app.task(lane="{name}")
async def configured(ctx: Context, name: str) -> dict[str, int]:
    page = await ctx.stage("listing").run(len, name)
    ctx.checkpoint["cursor"] = page
    return {"downloaded": page}


@app.task(isolation="process", timeout_seconds=60)
def blocking(ctx: SyncContext, path: str) -> int:
    with ctx.output(path) as temporary:
        return len(temporary.name)


@app.task
def without_context(number: int) -> float:
    return number / 2


@app.task()
async def without_context_async(number: int) -> str:
    return str(number)


async def right() -> None:
    assert_type(await bare.submit("a"), Job[list[str]])
    assert_type(await (await bare.submit("a", times=2)).wait(), list[str])
    assert_type(await configured.submit(name="a"), Job[dict[str, int]])
    assert_type(await configured.options(priority=Priority.HIGH).submit("a"), Job[dict[str, int]])
    assert_type(configured.call("a"), Call[dict[str, int]])
    assert_type(await app.submit(configured.call("a")), Job[dict[str, int]])
    assert_type(await blocking.submit("a.txt"), Job[int])
    assert_type(await without_context.submit(3), Job[float])
    assert_type(await without_context_async.submit(3), Job[str])
    assert_type(await (await without_context.submit(3)).rerun(), Job[float])
    named: Task[[int], float] = without_context
    assert_type(named.call(1), Call[float])
    app.schedule("nightly", configured.call("a"), cron="0 3 * * *")


async def wrong() -> None:
    await bare.submit()  # type: ignore[call-arg]
    await bare.submit(5)  # type: ignore[arg-type]
    await bare.submit("a", tmes=2)  # type: ignore[call-arg]
    await configured.options(priority=Priority.HIGH).submit(5)  # type: ignore[arg-type]
    configured.options(prioritty=Priority.HIGH)  # type: ignore[call-arg]
    configured.options(kind="begin")  # type: ignore[arg-type]
    configured.call(5)  # type: ignore[arg-type]
    number: int = await (await bare.submit("a")).wait()  # type: ignore[assignment]
    await (await bare.submit("a")).cancel(outputs="forget")  # type: ignore[arg-type]
    app.queue("archive", max_concurent=3)  # type: ignore[call-arg]
    app.queue("archive", order="lifo")  # type: ignore[arg-type]
    await app.queues.set("archive", max_concurent=3)  # type: ignore[call-arg]
    await app.queues.forecast("archive", max_concurrent="3")  # type: ignore[arg-type]
    app.task(isolation="thread")  # type: ignore[call-overload]
    app.schedule("nightly", configured, cron="0 3 * * *")  # type: ignore[arg-type]
    print(number)  # noqa: T201 - so that the name is used
