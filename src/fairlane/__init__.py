"""Fairlane: a durable task queue and scheduler inside your program.

Serial in a lane, parallel across lanes, fair to everyone.
"""

from fairlane.app import Fairlane
from fairlane.core.forecast import Forecast
from fairlane.core.lifecycle import Priority, State
from fairlane.core.retry import Retry
from fairlane.engine.context import Context, SyncContext
from fairlane.engine.device import Device
from fairlane.engine.disk import free_space
from fairlane.engine.hooks import webhook
from fairlane.engine.stages import Give
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
    StoreError,
    StoreUnavailable,
    TimedOut,
    TooLarge,
    Undecided,
    UnknownName,
    UsageError,
)
from fairlane.files import File
from fairlane.jobs import Job
from fairlane.snapshots import DeviceView, Snapshot
from fairlane.store.views import EventView, JobView, LaneView
from fairlane.tasks import Call, Task

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
    "Retry",
    "Retryable",
    "SchemaTooNew",
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
