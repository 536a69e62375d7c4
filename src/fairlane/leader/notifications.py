"""Notifications from the leader's thread to the rest of its process.

The leader calls `report_election`, `report_reload` and `report_commit` on its own thread. Each of
them is one `call_soon_threadsafe` to the loop of the program, where the receivers are called in the
order in which they were registered. `Engine` registers all receivers once, before the leader runs.
Notifications of a shared store arrive on that loop already, by `notify_channel`.
"""

import asyncio
from collections.abc import Callable, Mapping

from fairlane.cluster.fleet import MessageRef
from fairlane.core.decisions import Decisions, Stop
from fairlane.core.live_job import JobId
from fairlane.store.views import Payload

Deliver = Callable[[Decisions, Mapping[JobId, Payload], MessageRef], None]


class Notifications:
    def __init__(self, loop: asyncio.AbstractEventLoop, deliver: Deliver) -> None:
        self._loop = loop
        self._deliver = deliver  # passes the orders of a commit on to the local worker
        self._leading = False
        self.on_leadership: list[Callable[[bool], None]] = []  # gained or lost
        self.on_election: list[Callable[[], None]] = []  # held, also without a change
        self.on_reload: list[Callable[[list[Stop]], None]] = []  # any number of commits happened
        self.on_commit: list[Callable[[Decisions], None]] = []
        self.on_channel: dict[str, list[Callable[[], None]]] = {}  # of a shared store

    # called by the leader, on its thread

    def report_election(self, *, leading: bool) -> None:
        self._loop.call_soon_threadsafe(self._notify_election, leading)

    def report_reload(self, stops: list[Stop]) -> None:
        self._loop.call_soon_threadsafe(self._notify_reload, stops)

    def report_commit(
        self, decisions: Decisions, payloads: Mapping[JobId, Payload], message: MessageRef
    ) -> None:
        self._loop.call_soon_threadsafe(self._notify_commit, decisions, payloads, message)

    # called on the loop of the program

    def notify_channel(self, name: str) -> None:
        """Call the receivers of a channel, or of all channels if the name is empty."""
        for channel, receivers in self.on_channel.items():
            if name in (channel, ""):
                for receive in receivers:
                    receive()

    def _notify_election(self, leading: bool) -> None:
        if leading != self._leading:
            self._leading = leading
            for receive in self.on_leadership:
                receive(leading)
        for wake in self.on_election:
            wake()

    def _notify_reload(self, stops: list[Stop]) -> None:
        for receive in self.on_reload:
            receive(stops)

    def _notify_commit(
        self, decisions: Decisions, payloads: Mapping[JobId, Payload], message: MessageRef
    ) -> None:
        self._deliver(decisions, payloads, message)
        for receive in self.on_commit:
            receive(decisions)
