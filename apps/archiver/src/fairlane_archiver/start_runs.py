"""Starting and continuing rows, and waiting for them if that is wanted."""

import asyncio
from typing import Final

from fairlane import BadParameters, Fairlane, LaneBusy
from fairlane_archiver.follow import follow
from fairlane_archiver.output import NAME, message, note, say, warn_if_nobody_works
from fairlane_archiver.rows import Rows
from fairlane_archiver.sources import canonicals

BUSY: Final = 4
BAD: Final = 2


class Run:
    """What `start` and `continue` do."""

    def __init__(
        self, accounts: list[str] | None, *, wait: bool, as_json: bool, continues: bool
    ) -> None:
        self._accounts = accounts
        self._wait = wait
        self._as_json = as_json
        self._continues = continues

    async def carry_out(self, app: Fairlane, rows: Rows) -> int:
        named = canonicals(self._accounts)
        names = named or [row.account for row in await rows.listed() if row.filters is not None]
        jobs, refused = await rows.run(names, continues=self._continues)
        if jobs:
            await warn_if_nobody_works(app)
        is_whole = True
        if self._wait:
            try:
                ended = await follow(app, rows, jobs, names, silent=self._as_json)
            except asyncio.CancelledError:
                note(f"it goes on without this; `{NAME} cancel ACCOUNT` stops it")
                raise
            is_whole = all(
                job.state == "completed" and not job.statistics.get("failed") for job in ended
            )
        say(await rows.listed(names) if names else [], as_json=self._as_json)
        codes = [_told(account, error) for account, error in refused.items()]
        if codes and named:
            return codes[0]
        return 0 if is_whole and BAD not in codes else 1


def _told(account: str, error: LaneBusy | BadParameters) -> int:
    if isinstance(error, LaneBusy):
        note(f"{account} is started already, as job {error.active_job}")
        return BUSY
    note(f"{account} cannot be started: {message(error)}")
    return BAD
