"""Devices: which there are, how they are, and changing that while everything runs."""

from collections.abc import Mapping, Sequence
from typing import Any, Final

import msgspec

from fairlane.client.queues import Queues
from fairlane.core.inputs import SaveRecord
from fairlane.core.lifecycle import State
from fairlane.core.live_job import WorkerId, device_of
from fairlane.core.validation import check_name, check_path_name
from fairlane.errors import BadSetting, TooLarge, UnknownName
from fairlane.ids import new_id
from fairlane.snapshot import DeviceView, device_view, worker_view
from fairlane.store.views import Query
from fairlane.worker.device import DeviceRecord

MOST_LABELS: Final = 100
LARGEST_SETTINGS: Final = 64 * 1024
_MOST_RUNNING: Final = 1_000


class Devices(Queues):
    async def devices(self) -> dict[str, DeviceView]:
        """Return every device and how it is, by name."""
        stored = await self._device_records()
        workers = await self._on_loop(self._store.records("worker"))
        carried = {device_of(WorkerId(id)): worker_view(body) for id, body in workers.items()}
        running = await self._running_on({record.queue for record in stored.values()})
        return {
            name: device_view(name, stored[name], carried.get(name), running.get(name))
            for name in sorted(stored)
        }

    async def _device_records(self) -> dict[str, DeviceRecord]:
        stored = await self._on_loop(self._store.records("device"))
        return {name: msgspec.json.decode(body, type=DeviceRecord) for name, body in stored.items()}

    async def _running_on(self, queues: set[str]) -> dict[str, str]:
        """Return the job that each device of these queues runs."""
        found: dict[str, str] = {}
        for queue in queues:
            query = Query(states=(State.RUNNING.value,), queue=queue, limit=_MOST_RUNNING)
            page = await self._on_loop(self._store.live(query))
            found |= {job.device: job.id for job in page.items if job.device is not None}
        return found

    async def save_device(
        self,
        name: str,
        *,
        queue: str,
        labels: Sequence[str] = (),
        settings: Mapping[str, Any] | None = None,
    ) -> None:
        """Add a device to a queue, or put another in its place; a pause of it stays.

        `settings` are for the class that drives it, and shown to whoever may look: no secrets.
        """
        check_path_name("device", name)
        views = await self.queues()
        if queue not in views:
            raise UnknownName("queue", queue, views)
        if not views[queue].settings.devices:
            raise BadSetting(
                f'queue "{queue}" is not served by devices; declare it with devices=… the class '
                "that drives them, or choose another"
            )
        fresh = _checked(
            DeviceRecord(queue=queue, labels=tuple(labels), settings={**(settings or {})})
        )

        def change(text: str | None) -> str:
            was_paused = text is not None and _read(text).paused
            return _written(msgspec.structs.replace(fresh, paused=was_paused))

        await self._change_record("device", name, change)

    async def change_device(
        self,
        name: str,
        *,
        labels: Sequence[str] | None = None,
        settings: Mapping[str, Any] | None = None,
        paused: bool | None = None,
    ) -> None:
        """Change some of a device; what runs on it goes on. Paused, it takes nothing new."""
        given = {
            "labels": None if labels is None else tuple(labels),
            "settings": None if settings is None else {**settings},
            "paused": paused,
        }
        changes = {field: value for field, value in given.items() if value is not None}
        known = await self._device_records()

        def change(text: str | None) -> str:
            if text is None:
                raise UnknownName("device", name, known)
            return _written(_checked(msgspec.structs.replace(_read(text), **changes)))

        await self._change_record("device", name, change)

    async def delete_device(self, name: str) -> None:
        """Take a device out; what runs on it goes on to its end."""
        known = await self._device_records()
        if name not in known:
            raise UnknownName("device", name, known)
        await self.call(SaveRecord(new_id(), "device", name, None))


def _checked(record: DeviceRecord) -> DeviceRecord:
    for label in record.labels:
        check_name("label", label)
    if len(record.labels) > MOST_LABELS:
        raise TooLarge("the list of labels of a device", len(record.labels), MOST_LABELS)
    try:
        size = len(msgspec.json.encode(record.settings))
    except (TypeError, ValueError, RecursionError) as error:
        raise BadSetting(f"the settings of a device cannot be written as JSON: {error}") from None
    if size > LARGEST_SETTINGS:
        raise TooLarge("what is set for a device", size, LARGEST_SETTINGS)
    return record


def _read(text: str) -> DeviceRecord:
    return msgspec.json.decode(text, type=DeviceRecord)


def _written(record: DeviceRecord) -> str:
    return msgspec.json.encode(record).decode()
