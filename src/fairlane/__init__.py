"""Fairlane: a durable task queue and scheduler inside your program.

Serial in a lane, parallel across lanes, fair between priorities.
"""

try:
    import fcntl as _  # noqa: F401 - only to see that it is there
except ImportError:
    raise ImportError("Fairlane needs Linux or macOS; on Windows use WSL") from None

from fairlane.app import Fairlane
from fairlane.client.job import Job
from fairlane.core.forecast import Forecast
from fairlane.core.lifecycle import Priority, State
from fairlane.core.retry import Retry
from fairlane.errors import (
    BadParameters,
    BadSetting,
    Conflict,
    DatabaseCorrupt,
    DeviceDown,
    Duplicate,
    FairlaneError,
    IllegalTransition,
    InternalError,
    JobCancelled,
    JobEnded,
    JobFailed,
    JobSkipped,
    LaneBusy,
    LaneLocked,
    NotFound,
    NotStarted,
    OutputBusy,
    Permanent,
    Retryable,
    SchemaTooNew,
    SecretsUnreadable,
    StoreError,
    StoreUnavailable,
    TimedOut,
    TooLarge,
    Undecided,
    UnknownName,
    UsageError,
)
from fairlane.leader.webhook import webhook
from fairlane.snapshot import DeviceView, QueueInfo, Snapshot
from fairlane.store.views import EventView, JobView, LaneView
from fairlane.task.context import Context, SyncContext
from fairlane.task.disk_space import free_space
from fairlane.task.fallbacks import Fallback, Give
from fairlane.tasks import Call, Task
from fairlane.uploads import File
from fairlane.worker.device import Device

__version__ = "0.1.0"

__all__ = [
    "BadParameters",
    "BadSetting",
    "Call",
    "Conflict",
    "Context",
    "DatabaseCorrupt",
    "Device",
    "DeviceDown",
    "DeviceView",
    "Duplicate",
    "EventView",
    "Fairlane",
    "FairlaneError",
    "Fallback",
    "File",
    "Forecast",
    "Give",
    "IllegalTransition",
    "InternalError",
    "Job",
    "JobCancelled",
    "JobEnded",
    "JobFailed",
    "JobSkipped",
    "JobView",
    "LaneBusy",
    "LaneLocked",
    "LaneView",
    "NotFound",
    "NotStarted",
    "OutputBusy",
    "Permanent",
    "Priority",
    "QueueInfo",
    "Retry",
    "Retryable",
    "SchemaTooNew",
    "SecretsUnreadable",
    "Snapshot",
    "State",
    "StoreError",
    "StoreUnavailable",
    "SyncContext",
    "Task",
    "TimedOut",
    "TooLarge",
    "Undecided",
    "UnknownName",
    "UsageError",
    "free_space",
    "webhook",
]
