"""A program for the console; the test controls its jobs."""

from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import Field, SecretStr

from fairlane import Context, Device, Fairlane, Retry, free_space
from tests.support.puppets import Puppets


class Phone(Device):
    """A phone that is down if its settings say so."""

    def connect(self) -> None:
        if "trouble" in self.settings:
            raise ConnectionError(self.settings["trouble"])


def program(database: str, puppets: Puppets, folder: Path) -> Fairlane:
    app = Fairlane(database, slots=32, stop_grace_seconds=0, uploads=folder / "uploads")
    app.queue("line", max_concurrent=1)
    app.queue("archive", max_concurrent=2, on_conflict="reject")
    app.queue("phones", devices=Phone)
    app.limit("site", starts=100, per_seconds=60)
    app.resource("gpu", 1)

    @app.task(queue="line")
    async def play(ctx: Context, name: str) -> Any:
        """Run as the test directs."""
        return await puppets.act(ctx, name)

    @app.task(queue="phones")
    async def tap(ctx: Context, name: str) -> Any:
        """Run as the test directs, on a phone."""
        return await puppets.act(ctx, name)

    @app.task(queue="line", stages=["first", "second"])
    async def staged(ctx: Context, name: str) -> str:
        """Run as the test directs, in two stages."""
        async with ctx.stage("first") as stage:
            stage.progress(100, "the first is done")
        async with ctx.stage("second") as stage:
            stage.progress(10, "the second has begun")
            await puppets.act(ctx, name)
        return name

    @app.task(queue="archive", lane="{handle}", limits=["site"])
    async def archive(
        ctx: Context, handle: str, posts: Annotated[int, Field(ge=1, le=500)] = 10
    ) -> dict[str, int]:
        """Save the posts of an account, from where it stopped."""
        page = ctx.checkpoint.get("page", 0) + 1
        ctx.checkpoint["page"] = page
        await puppets.act(ctx, handle)
        return {"page": page, "posts": posts}

    @app.task
    async def greet(
        name: Annotated[str, Field(min_length=1, description="Whom to greet")],
        times: Annotated[int, Field(ge=1, le=10)] = 1,
        loudly: bool = False,
        mood: Literal["kind", "curt"] = "kind",
        token: SecretStr | None = None,
    ) -> str:
        """Greet a person, a `number` of times."""
        return " ".join([f"hello {name}{'!' if loudly else ''}"] * times)

    @app.task(retry=Retry(times=1, first_seconds=3600))
    async def flaky() -> None:
        """Fail, and be retried in an hour."""
        raise TimeoutError("the server is slow")

    @app.task(
        queue="line",
        preconditions=[free_space(str(folder), at_least=lambda values: values["size"])],
        outputs=[str(folder / "{name}.bin")],
        on_output="skip",
    )
    async def store(name: str, size: int = 1) -> None:
        """Need so many free bytes, and do nothing if the output exists."""

    @app.task
    async def fail(message: str = "no such file") -> None:
        """Fail at once."""
        raise ValueError(message)

    @app.task
    async def write(ctx: Context, name: str) -> None:
        """Write a file, and then run as the test directs."""
        async with ctx.output(folder / f"{name}.txt") as part:
            part.write_text(name)
        await puppets.act(ctx, name)

    app.schedule("nightly", greet.call(name="night"), cron="0 3 * * *", timezone="Europe/Berlin")
    return app
