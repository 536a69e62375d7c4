"""`python -m fairlane_dnslog.stand_in --port 3000 --rate 200 --journal FILE`"""

import signal
import threading
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from fairlane_dnslog.stand_in.running import StandIn
from fairlane_dnslog.stand_in.server_state import Options


def run(
    host: Annotated[str, typer.Option(help="The address to listen on.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(help="0: a free port, which is printed.")] = 3000,
    username: Annotated[str, typer.Option()] = "admin",
    password: Annotated[str, typer.Option(envvar="STAND_IN_PASSWORD")] = Options().password,
    rate: Annotated[float, typer.Option(help="Queries in a second.")] = 2.0,
    seed: Annotated[int, typer.Option(help="The household, its sites and its habits.")] = 1,
    history_days: Annotated[float, typer.Option(help="Past days in the log at the start.")] = 0.0,
    history_per_day: Annotated[int, typer.Option(help="Queries of a past day.")] = 12_000,
    most_rows: Annotated[int, typer.Option(help="The oldest rows beyond are dropped.")] = 200_000,
    journal: Annotated[Path | None, typer.Option(help="A file of every query.")] = None,
    keep_log: Annotated[bool, typer.Option(help="Continue the log of the journal.")] = True,
    offset_minutes: Annotated[int, typer.Option(help="The zone of the times in the log.")] = 0,
    block_seconds: Annotated[float, typer.Option(help="A lock-out, after 5 wrong logins.")] = 900.0,
) -> None:
    """Run a stand-in for AdGuard Home until it is stopped."""
    options = Options(
        username=username,
        password=password,
        rate=rate,
        seed=seed,
        history_days=history_days,
        history_per_day=history_per_day,
        most_rows=most_rows,
        journal=journal,
        keeps_log=keep_log,
        offset_minutes=offset_minutes,
        block_seconds=block_seconds,
    )
    server = StandIn(options, host=host, port=port)
    stopping = threading.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: stopping.set())
    server.start()
    Console().print(f"stand-in for AdGuard Home at {server.url}", highlight=False, soft_wrap=True)
    stopping.wait()
    server.stop()


if __name__ == "__main__":
    typer.run(run)
