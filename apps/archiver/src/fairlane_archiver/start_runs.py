"""Start and continue rows, and optionally wait for them."""

import asyncio
from typing import Final

from fairlane import BadParameters, Fairlane, LaneBusy
from fairlane_archiver.follow import follow
from fairlane_archiver.output import (
    NAME,
    error_message,
    print_note,
    print_rows,
    warn_without_workers,
)
from fairlane_archiver.rows import Rows
from fairlane_archiver.sources import canonical_names

BUSY: Final = 4
BAD: Final = 2


class StartRuns:
    """The action of `start` and `continue`."""

    def __init__(
        self, accounts: list[str] | None, *, wait: bool, as_json: bool, continues: bool
    ) -> None:
        self._accounts = accounts
        self._wait = wait
        self._as_json = as_json
        self._continues = continues

    async def execute(self, app: Fairlane, rows: Rows) -> int:
        named = canonical_names(self._accounts)
        names = named or [row.account for row in await rows.listed() if row.filters is not None]
        jobs, refused = await rows.run(names, continues=self._continues)
        if jobs:
            await warn_without_workers(app)
        is_whole = True
        if self._wait:
            try:
                ended = await follow(app, rows, jobs, names, silent=self._as_json)
            except asyncio.CancelledError:
                print_note(f"it goes on without this; `{NAME} cancel ACCOUNT` stops it")
                raise
            is_whole = all(
                job.state == "completed" and not job.statistics.get("failed") for job in ended
            )
        print_rows(await rows.listed(names) if names else [], as_json=self._as_json)
        codes = [_printed(account, error) for account, error in refused.items()]
        if codes and named:
            return codes[0]
        return 0 if is_whole and BAD not in codes else 1


def _printed(account: str, error: LaneBusy | BadParameters) -> int:
    if isinstance(error, LaneBusy):
        print_note(f"{account} is started already, as job {error.active_job}")
        return BUSY
    print_note(f"{account} cannot be started: {error_message(error)}")
    return BAD
