"""Hooks that are called when a job ends: callables of the program, or webhooks.

Ends are read from the stored events after a stored cursor. A crash between the end of a job and its
hook delays the call and does not lose it: each hook is called at least once per end.
"""

import asyncio
import json
import logging
import urllib.request
from collections.abc import Awaitable, Callable
from typing import Any, Final
from urllib.parse import urlsplit

import msgspec

from fairlane.core.decisions import Decisions
from fairlane.core.inputs import SaveRecord
from fairlane.core.lifecycle import FINAL, State
from fairlane.errors import BadSetting
from fairlane.ids import new_id
from fairlane.runtime.service import Service
from fairlane.runtime.threads import in_thread
from fairlane.store.protocol import Store
from fairlane.store.views import JobView

log = logging.getLogger("fairlane.hooks")

Hook = Callable[[JobView], Any]
_CURSOR: Final = ("hook", "ended")
_CHUNK: Final = 500
_TRIES: Final = 3


class EndHooks:
    def __init__(
        self,
        store: Store,
        hooks: list[Hook],
        call: Callable[[SaveRecord], Awaitable[Any]],
        *,
        is_leading: Callable[[], bool],
    ) -> None:
        self._store = store
        self._hooks = hooks
        self._call = call
        self._is_leading = is_leading
        self._seq: int | None = None
        self._begin: int | None = None
        self.service = Service("hooks", self.run_once)

    def change_leadership(self, leading: bool) -> None:
        """Read the stored cursor again: another leader may have called the hooks meanwhile."""
        if leading:
            self._seq = None

    def receive_commit(self, decisions: Decisions) -> None:
        if self._hooks and decisions.changes.ended:
            self.service.wake()

    async def prepare(self) -> None:
        """Read the number of the last event, before the first job can end."""
        if self._hooks:
            self._begin = await self._now()

    async def run_once(self) -> None:
        """Call the hooks for every job that has ended since the cursor."""
        if not self._hooks or not self._is_leading():
            return
        if self._seq is None:
            stored = (await self._store.records(_CURSOR[0])).get(_CURSOR[1])
            begin = self._begin if self._begin is not None else await self._now()
            self._seq = int(stored) if stored is not None else begin
            if stored is None:
                await self._keep()
        while True:
            events = await self._store.events(self._seq, _CHUNK)
            if events is None:
                log.warning("events of ended jobs were deleted before their hooks could be called")
                self._seq = await self._now()
                await self._keep()
                return
            ends = [e for e in events if _is_end(e.data.get("state"), e.type) and e.job]
            views = await self._store.jobs([e.job for e in ends if e.job])
            for event in ends:
                view = views.get(event.job) if event.job else None
                if view is not None:
                    await self._tell(view)
            if events:
                self._seq = events[-1].seq
            if ends:
                await self._keep()
            if len(events) < _CHUNK:
                return

    async def _now(self) -> int:
        return await self._store.last_seq()

    async def _keep(self) -> None:
        await self._call(SaveRecord(new_id(), *_CURSOR, str(self._seq)))

    async def _tell(self, view: JobView) -> None:
        for hook in self._hooks:
            for number in range(1, _TRIES + 1):
                try:
                    if asyncio.iscoroutinefunction(hook):
                        await hook(view)
                    else:
                        await in_thread(hook, view)
                    break
                except Exception:  # user code: an error must not stop the other hooks
                    log.exception("a hook failed for job %s, try %d of %d", view.id, number, _TRIES)


def _is_end(state: str | None, type: str) -> bool:
    return type == "job_state_changed" and state is not None and State(state) in FINAL


def webhook(url: str, *, timeout_seconds: float = 10.0) -> Hook:
    """Return a hook that posts the ended job as JSON to an http or https address."""
    if urlsplit(url).scheme not in ("http", "https"):
        raise BadSetting(f"a webhook needs an http or https address, got {url!r}")

    def post(view: JobView) -> None:
        body = json.dumps(msgspec.to_builtins(view)).encode()
        request = urllib.request.Request(  # noqa: S310 - the scheme was checked above
            url, data=body, headers={"Content-Type": "application/json"}, method="POST"
        )
        with urllib.request.urlopen(request, timeout=timeout_seconds) as answer:  # noqa: S310
            answer.read(1)

    return post
