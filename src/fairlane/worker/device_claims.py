"""The devices that this process carries: those that are stored, have a driver here and are free.

A device is claimed before it is touched: the claim says that a worker of its name joined, and the
leader lets in only one of a name. So of all processes that could drive a device exactly one does,
and when that one dies, another claims it.
"""

import asyncio
import logging
from collections.abc import Mapping
from typing import TYPE_CHECKING, Final

import msgspec

from fairlane.core.inputs import WorkerGone, WorkerJoined
from fairlane.core.live_job import WorkerId, carrier_of, device_id, device_of
from fairlane.runtime.service import Service
from fairlane.worker.device import Device, DeviceActor, DeviceRecord

if TYPE_CHECKING:
    from fairlane.engine.engine import Engine

log = logging.getLogger("fairlane.device")

_LOOK_SECONDS: Final = 1.0
_FAREWELL_SECONDS: Final = 5.0  # for drivers to let go of their devices
_SOON_SECONDS: Final = 0.1  # until a claim is looked at again


class DeviceClaims:
    def __init__(self, engine: "Engine", drivers: Mapping[str, type[Device]]) -> None:
        self._engine = engine
        self._drivers = drivers
        self._lives: dict[str, asyncio.Task[None]] = {}
        self._leaving: set[WorkerId] = set()  # the leader may not have heard of that yet
        self._is_over = False
        self.service = Service("devices", self.run_once)

    @property
    def may_carry(self) -> bool:
        """Tell whether this process could carry a device."""
        return bool(self._drivers) and self._engine.works and not self._is_over

    @property
    def _actors(self) -> dict[str, DeviceActor]:
        return self._engine.worker.devices

    def introductions(self, *, accepting: bool) -> list[WorkerJoined]:
        """Say of every device here how it is; from any thread."""
        actors = list(self._actors.values())
        return [self._introduction(actor, accepting=accepting) for actor in actors]

    def _introduction(self, actor: DeviceActor, *, accepting: bool) -> WorkerJoined:
        return msgspec.structs.replace(
            self._engine.introduction(accepting=accepting and actor.accepting),
            id=actor.id, name=actor.name, slots=1, device=True, queues=(actor.record.queue,),
            labels=actor.record.labels, note=actor.note, seen_at=actor.seen_at,
        )  # fmt: skip

    def _tell(self, actor: DeviceActor) -> None:
        self._engine.say(self._introduction(actor, accepting=self._engine.worker.accepting))

    async def run_once(self) -> float | None:
        """Carry what is to be carried, and let go of the rest."""
        if not self.may_carry:
            return None
        if self._engine.membership is None and not self._engine.calls.leading:
            return _LOOK_SECONDS  # only the process that leads works on a file
        store, carrier = self._engine.store, self._engine.worker.id
        stored = self._wanted(await store.records("device"))
        workers = await store.records("worker")
        held = {device_of(WorkerId(id)): WorkerId(id) for id in workers}
        self._leaving &= set(held.values())
        for name, actor in list(self._actors.items()):
            if name not in stored or carrier_of(actor.id) != carrier:
                actor.retire()
            elif stored[name].queue != actor.record.queue:
                actor.retire()  # whoever drives the devices of that queue claims it
            elif stored[name] != actor.record:
                actor.change(stored[name])
        pause = _LOOK_SECONDS
        if carrier not in workers:
            return pause  # without a lease of its own, what it claims counts as dead at once
        for name, record in stored.items():
            holder, ours = held.get(name), device_id(carrier, name)
            if name in self._actors or ours in self._leaving:
                continue
            if holder is None:
                self._tell(self._actor(name, record))  # a claim, which may come too late
                pause = _SOON_SECONDS
            elif holder == ours:
                self._carry(name, record)
        return pause

    def _wanted(self, records: Mapping[str, str]) -> dict[str, DeviceRecord]:
        known = {
            name: msgspec.json.decode(body, type=DeviceRecord) for name, body in records.items()
        }
        queues = self._engine.queues
        return {
            name: record
            for name, record in known.items()
            if record.queue in self._drivers and (queues is None or record.queue in queues)
        }

    def _actor(self, name: str, record: DeviceRecord) -> DeviceActor:
        return DeviceActor(
            self._engine.worker, name, record, self._drivers[record.queue],
            tell=self._tell, now=self._engine.clock.now,
        )  # fmt: skip

    def _carry(self, name: str, record: DeviceRecord) -> None:
        actor = self._actors[name] = self._actor(name, record)
        self._lives[name] = asyncio.create_task(self._live(actor))

    async def _live(self, actor: DeviceActor) -> None:
        try:
            await actor.run()
        finally:
            self._actors.pop(actor.name, None)
            self._lives.pop(actor.name, None)
            if not self._is_over:
                self._leaving.add(actor.id)
                self._engine.say(WorkerGone(actor.id, resigned=True))
                self.service.wake()

    async def close(self) -> None:
        """Let go of every device; nothing runs on them any more."""
        self._is_over = True
        for actor in list(self._actors.values()):
            actor.retire()
        lives = list(self._lives.values())
        if lives:
            _, late = await asyncio.wait(lives, timeout=_FAREWELL_SECONDS)
            for life in late:
                life.cancel()  # its driver does not answer
            await asyncio.gather(*late, return_exceptions=True)
