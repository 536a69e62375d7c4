"""`app.devices`: the devices of queues, their state, and changing them while an engine runs."""

from collections.abc import Mapping, Sequence
from typing import Any, Final

import msgspec

from fairlane.client.commands import Commands
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


class Devices:
    """The devices of the database, by name."""

    def __init__(self, commands: Commands, queues: Queues) -> None:
        self._commands = commands
        self._queues = queues

    async def list(self) -> dict[str, DeviceView]:
        """Return every device and its state, by name."""
        stored = await self._stored()
        workers = await self._commands.records("worker")
        drivers = {device_of(WorkerId(id)): worker_view(body) for id, body in workers.items()}
        running = await self._running_on({record.queue for record in stored.values()})
        return {
            name: device_view(name, stored[name], drivers.get(name), running.get(name))
            for name in sorted(stored)
        }

    async def _stored(self) -> dict[str, DeviceRecord]:
        rows = await self._commands.records("device")
        return {name: _decode(body) for name, body in rows.items()}

    async def _running_on(self, queues: set[str]) -> dict[str, str]:
        """Return the job that each device of these queues runs."""
        jobs: dict[str, str] = {}
        for queue in queues:
            query = Query(states=(State.RUNNING.value,), queue=queue, limit=_MOST_RUNNING)
            page = await self._commands.on_loop(self._commands.store.live_jobs(query))
            jobs |= {job.device: job.id for job in page.items if job.device is not None}
        return jobs

    async def save(
        self,
        name: str,
        *,
        queue: str,
        labels: Sequence[str] = (),
        settings: Mapping[str, Any] | None = None,
    ) -> None:
        """Add a device to a queue, or replace one; a pause of it stays.

        `settings` are for the class that drives it. Every reader sees them: no secrets.
        """
        check_path_name("device", name)
        queues = await self._queues.list()
        if queue not in queues:
            raise UnknownName("queue", queue, queues)
        if not queues[queue].settings.devices:
            raise BadSetting(
                f'queue "{queue}" is not served by devices; declare it with devices=… the class '
                "that drives them, or choose another"
            )
        record = _checked(
            DeviceRecord(queue=queue, labels=tuple(labels), settings={**(settings or {})})
        )

        def change(text: str | None) -> str:
            was_paused = text is not None and _decode(text).paused
            return _encode(msgspec.structs.replace(record, paused=was_paused))

        await self._commands.change_record("device", name, change)

    async def change(
        self,
        name: str,
        *,
        labels: Sequence[str] | None = None,
        settings: Mapping[str, Any] | None = None,
        paused: bool | None = None,
    ) -> None:
        """Change some of a device; its running job goes on. A paused device starts no job."""
        values = {
            "labels": None if labels is None else tuple(labels),
            "settings": None if settings is None else {**settings},
            "paused": paused,
        }
        changes = {field: value for field, value in values.items() if value is not None}
        known = await self._stored()

        def change(text: str | None) -> str:
            if text is None:
                raise UnknownName("device", name, known)
            return _encode(_checked(msgspec.structs.replace(_decode(text), **changes)))

        await self._commands.change_record("device", name, change)

    async def delete(self, name: str) -> None:
        """Delete a device; its running job goes on until it ends."""
        known = await self._stored()
        if name not in known:
            raise UnknownName("device", name, known)
        await self._commands.call(SaveRecord(new_id(), "device", name, None))


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
        raise TooLarge("the settings of a device", size, LARGEST_SETTINGS)
    return record


def _decode(text: str) -> DeviceRecord:
    return msgspec.json.decode(text, type=DeviceRecord)


def _encode(record: DeviceRecord) -> str:
    return msgspec.json.encode(record).decode()
