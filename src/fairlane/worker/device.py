"""The driver of a device, as a program writes it, and the record of a device, as it is stored."""

from collections.abc import Awaitable, Mapping
from typing import Any, ClassVar, Final

from msgspec import Struct, field

PAUSED: Final = "paused"  # the note of a device that answers and is paused


class Device:
    """The driver of one device; declare it with `app.queue("phones", devices=Phone)`.

    Every method may be plain, and then runs in a thread, or async. An exception means that the
    device does not work now; from `prepare` it means that the job fails. A task finds its driver as
    `ctx.device`.
    """

    check_seconds: ClassVar[float] = 10.0  # between two checks
    answer_seconds: ClassVar[float] = 30.0  # the timeout of `connect`, `check` and `close`

    def __init__(self, name: str, labels: tuple[str, ...], settings: dict[str, Any]) -> None:
        self.name = name
        self.labels = labels
        self.settings = settings

    def connect(self) -> Awaitable[None] | None:
        """Connect to the device, for the first time or again after it was down."""

    def check(self) -> Awaitable[None] | None:
        """Raise if the device does not answer; also called while a job runs on it."""

    def prepare(self, ctx: Any, params: Mapping[str, Any]) -> Awaitable[None] | None:
        """Prepare the device for a job."""

    def cleanup(self, ctx: Any, params: Mapping[str, Any]) -> Awaitable[None] | None:
        """Leave the device as the next job expects it, also after a job that failed."""

    def close(self) -> Awaitable[None] | None:
        """Disconnect from the device."""


class DeviceRecord(Struct, frozen=True, kw_only=True):
    """A device as it is stored: its queue, its labels, and the settings for its driver."""

    queue: str
    labels: tuple[str, ...] = ()
    settings: dict[str, Any] = field(default_factory=dict)
    paused: bool = False
