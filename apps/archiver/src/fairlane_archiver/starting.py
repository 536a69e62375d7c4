"""Starting and continuing rows, and waiting for them if that is wanted."""

import asyncio

from fairlane import Fairlane
from fairlane_archiver.following import follow
from fairlane_archiver.rows import Rows
from fairlane_archiver.sources import canonicals
from fairlane_archiver.speaking import NAME, note, say, warn_if_nobody_works


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
        jobs, busy = await rows.run(names, continues=self._continues)
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
        for conflict in busy:
            note(f"{conflict.facts['lane']} is started already, as job {conflict.active_job}")
        if busy and named:
            return 4
        return 0 if is_whole else 1
