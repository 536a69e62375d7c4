"""The claims of this process on devices: stored, with a driver in this process, and unclaimed.

A process claims a device before it connects to it. The claim is a `WorkerJoined` with the name of
the device, and the leader admits only one worker of a name. So exactly one of the processes that
could drive a device does so, and when that process dies, another claims the device.
"""

import asyncio
import logging
from collections.abc import Mapping
from typing import TYPE_CHECKING, Final

import msgspec

from fairlane.core.decisions import Decisions
from fairlane.core.inputs import WorkerGone, WorkerJoined
from fairlane.core.live_job import WorkerId, carrier_of, device_id, device_of
from fairlane.runtime.service import Service
from fairlane.worker.device import Device, DeviceRecord
from fairlane.worker.device_actor import DeviceActor

if TYPE_CHECKING:
    from fairlane.engine.engine import Engine

log = logging.getLogger("fairlane.device")

_POLL_SECONDS: Final = 1.0
_CLOSE_SECONDS: Final = 5.0  # for drivers to close their devices
_CLAIM_POLL_SECONDS: Final = 0.1  # after a claim, until its result is read


class DeviceClaims:
    def __init__(self, engine: "Engine", drivers: Mapping[str, type[Device]]) -> None:
        self._engine = engine
        self._drivers = drivers
        self._tasks: dict[str, asyncio.Task[None]] = {}
        self._leaving: set[WorkerId] = set()  # until the leader has processed their WorkerGone
        self._closed = False
        self._reading: asyncio.TimerHandle | None = None  # the next, because of news
        self.service = Service("devices", self.run_once)

    @property
    def may_carry(self) -> bool:
        """Whether this process could carry a device."""
        return bool(self._drivers) and self._engine.works and not self._closed

    def receive_commit(self, decisions: Decisions) -> None:
        if self.may_carry and any(kind == "device" for kind, _ in decisions.changes.records):
            self.service.wake()

    def receive_news(self) -> None:
        """Read the devices again within a second: another process may have changed them."""
        if self.may_carry and self._engine.membership is not None and self._reading is None:
            loop = asyncio.get_running_loop()
            self._reading = loop.call_later(_POLL_SECONDS, self.service.wake)

    @property
    def _actors(self) -> dict[str, DeviceActor]:
        return self._engine.worker.devices

    def introductions(self, *, accepting: bool) -> list[WorkerJoined]:
        """Return the current state of every device in this process; from any thread."""
        actors = list(self._actors.values())
        return [self._introduction(actor, accepting=accepting) for actor in actors]

    def _introduction(self, actor: DeviceActor, *, accepting: bool) -> WorkerJoined:
        return msgspec.structs.replace(
            self._engine.introduction(accepting=accepting and actor.accepting),
            id=actor.id, name=actor.name, slots=1, device=True, queues=(actor.record.queue,),
            labels=actor.record.labels, note=actor.note, seen_at=actor.seen_at,
        )  # fmt: skip

    def _report(self, actor: DeviceActor) -> None:
        self._engine.send_to_leader(
            self._introduction(actor, accepting=self._engine.worker.accepting)
        )

    async def run_once(self) -> float | None:
        """Claim free devices, drive the claimed ones, and retire deleted or moved ones."""
        if not self.may_carry:
            return None
        if self._engine.membership is None and not self._engine.calls.leading:
            return _POLL_SECONDS  # on an SQLite file only the leading process works
        if self._reading is not None:
            self._reading.cancel()
            self._reading = None
        store, carrier = self._engine.store, self._engine.worker.id
        stored = self._drivable(await store.records("device"))
        workers = await store.records("worker")
        held = {device_of(WorkerId(id)): WorkerId(id) for id in workers}
        self._leaving &= set(held.values())
        for name, actor in list(self._actors.items()):
            if name not in stored or carrier_of(actor.id) != carrier:
                actor.retire()
            elif stored[name].queue != actor.record.queue:
                actor.retire()  # a process with a driver for the new queue claims it
            elif stored[name] != actor.record:
                actor.change_record(stored[name])
        pause = max(_POLL_SECONDS, self._engine.poll_seconds())
        if carrier not in workers:
            return pause  # without a lease, its claims would count as dead at once
        for name, record in stored.items():
            holder, ours = held.get(name), device_id(carrier, name)
            if name in self._actors or ours in self._leaving:
                continue
            if holder is None:
                self._report(self._actor(name, record))  # a claim; another process may be faster
                pause = _CLAIM_POLL_SECONDS
            elif holder == ours:
                self._carry(name, record)
        return pause

    def _drivable(self, records: Mapping[str, str]) -> dict[str, DeviceRecord]:
        decoded = {
            name: msgspec.json.decode(body, type=DeviceRecord) for name, body in records.items()
        }
        queues = self._engine.queues
        return {
            name: record
            for name, record in decoded.items()
            if record.queue in self._drivers and (queues is None or record.queue in queues)
        }

    def _actor(self, name: str, record: DeviceRecord) -> DeviceActor:
        return DeviceActor(
            self._engine.worker, name, record, self._drivers[record.queue],
            report=self._report, now=self._engine.clock.now,
        )  # fmt: skip

    def _carry(self, name: str, record: DeviceRecord) -> None:
        actor = self._actors[name] = self._actor(name, record)
        self._tasks[name] = asyncio.create_task(self._run_actor(actor))

    async def _run_actor(self, actor: DeviceActor) -> None:
        try:
            await actor.run()
        finally:
            self._actors.pop(actor.name, None)
            self._tasks.pop(actor.name, None)
            if not self._closed:
                self._leaving.add(actor.id)
                self._engine.send_to_leader(WorkerGone(actor.id, resigned=True))
                self.service.wake()

    async def close(self) -> None:
        """Close every device, once the worker has no running attempts."""
        self._closed = True
        for actor in list(self._actors.values()):
            actor.retire()
        tasks = list(self._tasks.values())
        if tasks:
            _, late = await asyncio.wait(tasks, timeout=_CLOSE_SECONDS)
            for task in late:
                task.cancel()  # its driver does not answer
            await asyncio.gather(*late, return_exceptions=True)
