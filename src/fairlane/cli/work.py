"""`fairlane work module:app`: run a program's jobs in a process of its own."""

import asyncio
from typing import Annotated

import typer

from fairlane import logs
from fairlane.app import Fairlane
from fairlane.cli.app_import import UNAVAILABLE, fail, find_app
from fairlane.cli.signals import Stopping, farewell, say
from fairlane.errors import FairlaneError, StoreError


def work(
    app: Annotated[
        Fairlane,
        typer.Argument(help="The app, as in tasks:app", metavar="MODULE:APP", parser=find_app),
    ],
    *,
    slots: Annotated[
        int | None, typer.Option(help="Jobs at a time; the app's own number otherwise", min=1)
    ] = None,
    queue: Annotated[
        list[str] | None, typer.Option(help="Serve only this queue; may be repeated")
    ] = None,
    label: Annotated[
        list[str] | None, typer.Option(help="What this place has, for tasks that require it")
    ] = None,
    grace: Annotated[
        float | None, typer.Option(help="Seconds that running jobs have when it is stopped", min=0)
    ] = None,
    log_json: Annotated[
        bool, typer.Option("--log-json", help="Log one JSON object per line")
    ] = False,
) -> None:
    """Run jobs until SIGTERM or Ctrl-C.

    Then nothing new begins, what runs has its grace, and what still runs after that is handed back
    to the queue. A second signal ends the grace. A thread that does not stop is waited for all the
    same, because nothing may run twice; a third signal ends the process, as a crash would.
    """
    logs.configure(json=log_json)
    try:
        app._override_options(slots=slots, queues=queue, labels=label, stop_grace_seconds=grace)
        asyncio.run(_work(app))
    except StoreError as error:
        fail(str(error), code=UNAVAILABLE)
    except FairlaneError as error:
        fail(str(error))


async def _work(app: Fairlane) -> None:
    stopping = Stopping()
    async with stopping.running(app) as engine:
        if engine is not None:
            typer.echo(f"working on {engine.store.address} with {engine.worker.slots} slots")
            await stopping.asked.wait()
            say(farewell(app))
    say("stopped")
