"""A program to be served; the submitter decides how its tasks run."""

import asyncio
import os
from typing import Annotated

from pydantic import Field, SecretStr

from fairlane import Context, Device, Fairlane

app = Fairlane(slots=8, uploads=os.environ.get("TEST_UPLOADS"))
app.queue("archive", max_concurrent=2, on_conflict="reject")
app.queue("twins", on_conflict="merge")
app.queue("phones", devices=Device)
app.limit("site", starts=1_000, per_seconds=1)
app.resource("gpu", 1)


@app.task
async def hello(name: str, times: int = 1) -> str:
    """Say hello to somebody.

    As often as wanted.
    """
    return " ".join([f"hello {name}"] * min(times, 3))


@app.task(queue="archive", lane="{handle}", limits=["site"])
async def archive(
    ctx: Context,
    handle: str,
    seconds: Annotated[float, Field(ge=0, le=600)] = 0.0,
    token: SecretStr | None = None,
) -> dict[str, int]:
    """Save an account, from where it stopped if it is continued."""
    page = ctx.checkpoint.get("page", 0)
    ctx.log(f"page {page}")
    await asyncio.sleep(seconds)
    ctx.checkpoint["page"] = page + 1
    return {"page": page}


@app.task(queue="twins", lane="{name}")
async def twin(name: str, seconds: float = 0.0) -> None:
    await asyncio.sleep(seconds)


@app.task(queue="phones", requires=["{region}"])
async def tap(ctx: Context, region: str = "eu") -> str:
    """Run a step on a phone of a region."""
    return str(ctx.device.name)


@app.task
async def fail(message: str = "no") -> None:
    raise ValueError(message)


app.schedule("nightly", hello.call(name="night"), cron="0 3 * * *", timezone="Europe/Berlin")
