"""Log lines that say which attempt they are about, for people or one JSON object each.

An attempt leaves word of itself in a context variable, which follows it into its thread. A filter
on a handler takes it from there, so that every line has it: ours, the task's and those of
whatever library it calls. A filter on a logger would not do, as it does not see the lines of the
loggers below it.
"""

import json
import logging
from contextvars import ContextVar
from datetime import UTC, datetime
from typing import Any, Final, TextIO

from msgspec import Struct

from fairlane.core.decisions import Start
from fairlane.redaction import Mask

FIELDS: Final = ("job", "task", "queue", "lane", "attempt")
_TRACE: Final = ("trace_id", "span_id")
_KNOWN: Final = frozenset(
    {*vars(logging.makeLogRecord({})), *FIELDS, *_TRACE, "message", "asctime", "taskName"}
)
_traceback: Final = logging.Formatter()
# What a job says may come from anywhere: it must not steer a terminal, nor look like another line.
VISIBLE: Final = {
    code: repr(chr(code))[1:-1] for code in (*range(32), *range(127, 160)) if chr(code) != "\t"
}


class Subject(Struct, frozen=True, gc=False):
    """The attempt that something is about."""

    job: str
    task: str
    queue: str
    lane: str | None
    attempt: int
    mask: Mask | None = None
    trace_id: str | None = None
    span_id: str | None = None


_subject: ContextVar[Subject | None] = ContextVar("fairlane_subject", default=None)


def about(start: Start) -> dict[str, Any]:
    """Return what a line about an attempt takes as `extra` where it is written outside of it."""
    return {name: getattr(start, name) for name in FIELDS}


def speak_of(subject: Subject) -> None:
    """Let everything that is logged in this context from now on be about an attempt."""
    _subject.set(subject)


def hide(text: str) -> str:
    """Take the secrets of the attempt that this context is about out of a text."""
    subject = _subject.get()
    return text if subject is None or subject.mask is None else subject.mask.hide(text)


class AttemptFilter(logging.Filter):
    """Gives each record `job`, `task`, `queue`, `lane` and `attempt`; None outside of attempts.

    Belongs on every handler. The values of the job's secret parameters are taken out of the record.
    """

    def filter(self, record: logging.LogRecord) -> bool:
        subject = _subject.get()
        for name in (*FIELDS, *_TRACE):
            if subject is not None or not hasattr(record, name):
                setattr(record, name, getattr(subject, name, None))
        if subject is not None and subject.mask is not None:
            _hide(record, subject.mask)
        return True


def _hide(record: logging.LogRecord, mask: Mask) -> None:
    """Write out what the record says and hide the secrets in it, for whoever formats it."""
    record.msg, record.args = mask.hide(record.getMessage()), None
    if record.exc_info and not record.exc_text:
        record.exc_text = _traceback.formatException(record.exc_info)
    if record.exc_text:
        record.exc_text = mask.hide(record.exc_text)
    if record.stack_info:
        record.stack_info = mask.hide(record.stack_info)
    for name in set(vars(record)) - _KNOWN:
        given = getattr(record, name)
        if not isinstance(given, int | float | None):
            setattr(record, name, mask.hide(str(given)))


class JsonFormatter(logging.Formatter):
    """One object per line: `at`, `level`, `logger`, `message`, the attempt, and any `extra`."""

    def format(self, record: logging.LogRecord) -> str:
        at = datetime.fromtimestamp(record.created, UTC)
        line: dict[str, Any] = {
            "at": at.isoformat(timespec="microseconds").replace("+00:00", "Z"),
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": record.getMessage(),
        }
        for name in (*FIELDS, *_TRACE):
            value = getattr(record, name, None)
            if value is not None:
                line[name] = value
        if record.exc_info and not record.exc_text:
            record.exc_text = self.formatException(record.exc_info)
        if record.exc_text:
            line["error"] = record.exc_text
        if record.stack_info:
            line["stack"] = record.stack_info
        for name, value in vars(record).items():
            if name not in _KNOWN and name not in line:
                line[name] = value if isinstance(value, bool | int | str | None) else str(value)
        # In ASCII, so that it is one line of valid JSON whatever the stream can write.
        return json.dumps(line, default=str)


class TextFormatter(logging.Formatter):
    """A line for people; what is about an attempt ends with its fields."""

    def __init__(self) -> None:
        super().__init__("%(asctime)s %(name)s: %(message)s")

    def formatMessage(self, record: logging.LogRecord) -> str:  # noqa: N802 - logging's own name
        text = super().formatMessage(record)
        given = ((name, getattr(record, name, None)) for name in FIELDS)
        about = " ".join(f"{name}={value}" for name, value in given if value is not None)
        return (f"{text} [{about}]" if about else text).translate(VISIBLE)


class Chosen(Struct, frozen=True):
    """How a process writes its log, for its child processes to do the same."""

    json: bool
    level: int


_handler: logging.Handler | None = None
_chosen: Chosen | None = None


def configure(
    *, json: bool = False, level: int | str = logging.INFO, stream: TextIO | None = None
) -> None:
    """Write the log of this program and its child processes to stderr, or to another stream.

    A second call replaces the first. Handlers of your own stay as they are: give them an
    `AttemptFilter` instead.
    """
    global _handler, _chosen
    root = logging.getLogger()
    root.setLevel(level)
    if _handler is not None:
        root.removeHandler(_handler)
    _handler = logging.StreamHandler(stream)
    _handler.addFilter(AttemptFilter())
    _handler.setFormatter(JsonFormatter() if json else TextFormatter())
    root.addHandler(_handler)
    _chosen = Chosen(json, root.level)


def chosen() -> Chosen | None:
    """Return what `configure` was told; None if the program writes its log by itself."""
    return _chosen
