"""A demonstration: a household behind a stand-in for AdGuard Home, its log and its timed rules."""

import os
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from msgspec.structs import replace

from fairlane_dnslog.console_gate import HOME
from fairlane_dnslog.machine_timezone import find_machine_timezone
from fairlane_dnslog.program import Program
from fairlane_dnslog.rules.rule import Detail, Kind, RuleDraft
from fairlane_dnslog.rules.rule_store import save_rule
from fairlane_dnslog.rules.window import Window
from fairlane_dnslog.settings import Settings
from fairlane_dnslog.stand_in import Options, StandIn, stand_in
from fairlane_dnslog.web.accounts import store_account

NAME: Final = "demo"
PASSWORD: Final = "household"  # noqa: S105 - of a demonstration in a temporary folder
HISTORY_DAYS: Final = 1.5
QUERIES_PER_DAY: Final = 20_000
RATE: Final = 0.4  # queries in a second, about as many as in the history
PULL_SECONDS: Final = 3.0
_TABLETS: Final = ("Leo tablet", "Mia tablet")

RULES: Final = (
    RuleDraft(
        name="No AI services on school days",
        kind=Kind.BLOCK_SERVICES,
        detail=Detail(services=("chatgpt", "claude", "gemini", "perplexity"), clients=_TABLETS),
        window=Window(weekdays=("mon", "tue", "wed", "thu", "fri"), start="16:00", end="20:00"),
    ),
    RuleDraft(
        name="Bedtime",
        kind=Kind.BLOCK_SERVICES,
        detail=Detail(
            services=("minecraft", "roblox", "tiktok", "twitch", "youtube"),
            clients=(*_TABLETS, "Leo console"),
        ),
        window=Window(weekdays=("sun", "mon", "tue", "wed", "thu"), start="21:00", end="06:30"),
    ),
    RuleDraft(
        name="The vacuum stays at home",
        kind=Kind.CUSTOM_RULES,
        detail=Detail(lines=("||dustbot.com^", "||brightbulb.net^$client='Vacuum'")),
    ),
    RuleDraft(
        name="No filtering for the guests on Saturday evening",
        kind=Kind.PROTECTION_OFF,
        enabled=False,
        window=Window(weekdays=("sat",), start="19:00", end="23:00"),
    ),
)


@contextmanager
def demo_program(*, host: str) -> Iterator[tuple[Program, StandIn]]:
    """Return a program on a household, in a folder that is removed at the end of the block."""
    options = Options(rate=RATE, history_days=HISTORY_DAYS, history_per_day=QUERIES_PER_DAY)
    with tempfile.TemporaryDirectory(prefix="dnslog-demo-") as name, stand_in(options) as server:
        settings = Settings(
            folder=Path(name),
            database=f"sqlite:///{name}/dnslog.db",
            servers=(server.settings(),),
            pull_seconds=PULL_SECONDS,
            host=host,
            timezone=find_machine_timezone(os.environ),
        )
        program = Program(settings, console_address=HOME)
        program.prepare()
        _fill(program)
        yield program, server


def _fill(program: Program) -> None:
    with program.database.transaction() as tx:
        store_account(tx, name=NAME, password=PASSWORD)
    zone = program.settings.timezone
    for draft in RULES:
        local = replace(draft, window=replace(draft.window, timezone=zone))
        save_rule(program.database, local, actor=NAME, now=time.time())
