"""Log lines with the attempt that they are about, as text for people or one JSON object each.

An attempt stores a `LogSubject` in a context variable, which follows it into its thread. A filter
on each handler copies the subject into every record: records of Fairlane, of the task and of the
libraries it calls. A filter on a logger would not do: it does not see records of the loggers below.
"""

import json
import logging
from contextvars import ContextVar
from datetime import UTC, datetime
from math import isfinite
from typing import Any, Final, TextIO

from msgspec import Struct

from fairlane.core.decisions import Start
from fairlane.redaction import Redactor

FIELDS: Final = ("job", "task", "queue", "lane", "attempt")
_TRACE: Final = ("trace_id", "span_id")
_KNOWN: Final = frozenset(
    {*vars(logging.makeLogRecord({})), *FIELDS, *_TRACE, "message", "asctime", "taskName"}
)
_traceback: Final = logging.Formatter()
# A message may come from outside: it must not control a terminal, nor look like another line.
VISIBLE: Final = {
    code: repr(chr(code))[1:-1] for code in (*range(32), *range(127, 160)) if chr(code) != "\t"
}


class LogSubject(Struct, frozen=True, gc=False):
    """The attempt that a log line is about."""

    job: str
    task: str
    queue: str
    lane: str | None
    attempt: int
    redactor: Redactor | None = None
    trace_id: str | None = None
    span_id: str | None = None


_subject: ContextVar[LogSubject | None] = ContextVar("fairlane_subject", default=None)


def attempt_fields(start: Start) -> dict[str, Any]:
    """Return the `extra` of a log line about an attempt that is written outside of the attempt."""
    return {name: getattr(start, name) for name in FIELDS}


def set_subject(subject: LogSubject) -> None:
    """Make an attempt the subject of every later log line in this context."""
    _subject.set(subject)


def redact_secrets(text: str) -> str:
    """Redact the secrets of this context's attempt in a text."""
    subject = _subject.get()
    return text if subject is None or subject.redactor is None else subject.redactor.redact(text)


class AttemptFilter(logging.Filter):
    """Add `job`, `task`, `queue`, `lane` and `attempt` to each record; None outside of attempts.

    It belongs on every handler. It redacts the values of the job's secret parameters.
    """

    def filter(self, record: logging.LogRecord) -> bool:
        subject = _subject.get()
        for name in (*FIELDS, *_TRACE):
            if subject is not None or not hasattr(record, name):
                setattr(record, name, getattr(subject, name, None))
        if subject is not None and subject.redactor is not None:
            _redact_record(record, subject.redactor)
        return True


def _redact_record(record: logging.LogRecord, redactor: Redactor) -> None:
    """Format the parts of a record and redact them, so that every formatter gets redacted text."""
    record.msg, record.args = redactor.redact(record.getMessage()), None
    if record.exc_info and not record.exc_text:
        record.exc_text = _traceback.formatException(record.exc_info)
    if record.exc_text:
        record.exc_text = redactor.redact(record.exc_text)
    if record.stack_info:
        record.stack_info = redactor.redact(record.stack_info)
    for name in set(vars(record)) - _KNOWN:
        value = getattr(record, name)
        if not isinstance(value, int | float | None):
            setattr(record, name, redactor.redact(str(value)))


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
                line[name] = value if _is_json(value) else str(value)
        # In ASCII, so that every stream can write it as one line of valid JSON.
        return json.dumps(line, default=str)


def _is_json(value: Any) -> bool:
    return isinstance(value, int | str | None) or (isinstance(value, float) and isfinite(value))


class TextFormatter(logging.Formatter):
    """A line for people; a line about an attempt ends with its fields."""

    def __init__(self) -> None:
        super().__init__("%(asctime)s %(name)s: %(message)s")

    def formatMessage(self, record: logging.LogRecord) -> str:  # noqa: N802 - logging's own name
        text = super().formatMessage(record)
        values = ((name, getattr(record, name, None)) for name in FIELDS)
        fields = " ".join(f"{name}={value}" for name, value in values if value is not None)
        return (f"{text} [{fields}]" if fields else text).translate(VISIBLE)


class LogConfiguration(Struct, frozen=True):
    """The form and level of a process's log, which its child processes use too."""

    json: bool
    level: int


_handler: logging.Handler | None = None
_configuration: LogConfiguration | None = None


def configure(
    *, json: bool = False, level: int | str = logging.INFO, stream: TextIO | None = None
) -> None:
    """Write the log of this program and its child processes to stderr, or to another stream.

    A second call replaces the first. Handlers of your own stay as they are: give them an
    `AttemptFilter` instead.
    """
    global _handler, _configuration
    root = logging.getLogger()
    root.setLevel(level)
    if _handler is not None:
        root.removeHandler(_handler)
    _handler = logging.StreamHandler(stream)
    _handler.addFilter(AttemptFilter())
    _handler.setFormatter(JsonFormatter() if json else TextFormatter())
    root.addHandler(_handler)
    _configuration = LogConfiguration(json, root.level)


def current_configuration() -> LogConfiguration | None:
    """Return the arguments of `configure`; None if the program configures its own logging."""
    return _configuration
