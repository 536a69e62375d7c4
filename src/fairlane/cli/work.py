"""`fairlane work module:app`: run a program's jobs in a separate process, without HTTP."""

import asyncio
from typing import Annotated

import typer

from fairlane import logs
from fairlane.app import Fairlane
from fairlane.cli.app_import import exit_with, import_app
from fairlane.cli.exit_codes import UNAVAILABLE
from fairlane.cli.signals import ShutdownSignals, echo, stopping_message
from fairlane.errors import FairlaneError, StoreError


def work(
    app: Annotated[
        Fairlane,
        typer.Argument(help="The app, as in tasks:app", metavar="MODULE:APP", parser=import_app),
    ],
    *,
    slots: Annotated[
        int | None, typer.Option(help="The number of jobs at a time; default: the app's", min=1)
    ] = None,
    queue: Annotated[
        list[str] | None, typer.Option(help="Run only jobs of this queue; may be repeated")
    ] = None,
    label: Annotated[
        list[str] | None,
        typer.Option(help="A label of this worker, for tasks that require it; may be repeated"),
    ] = None,
    grace: Annotated[
        float | None,
        typer.Option(help="Seconds that running jobs have to finish on a signal", min=0),
    ] = None,
    log_json: Annotated[
        bool, typer.Option("--log-json", help="Log one JSON object per line")
    ] = False,
) -> None:
    """Run jobs until SIGTERM or Ctrl-C.

    On the first signal no new jobs start, and running jobs have a grace period; jobs that still run
    after it return to the queue. A second signal ends the grace period. The process still waits for
    a thread that does not stop, because a job must not run twice; a third signal ends the process,
    as a crash would.
    """
    logs.configure(json=log_json)
    try:
        app._override_options(slots=slots, queues=queue, labels=label, stop_grace_seconds=grace)
        asyncio.run(_work(app))
    except StoreError as error:
        exit_with(str(error), code=UNAVAILABLE)
    except FairlaneError as error:
        exit_with(str(error))


async def _work(app: Fairlane) -> None:
    signals = ShutdownSignals()
    async with signals.run_engine(app) as engine:
        if engine is not None:
            typer.echo(f"working on {engine.store.address} with {engine.worker.slots} slots")
            await signals.stop_requested.wait()
            echo(stopping_message(app))
    echo("stopped")
