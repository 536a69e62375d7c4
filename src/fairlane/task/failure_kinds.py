"""The kind of failure that an exception means: transient or permanent.

Transient: timeouts, lost connections, HTTP 5xx and 429, temporary I/O or permission errors, busy
files. Permanent: missing or corrupt input, bad parameters, mistakes in the program. An exception
that shows neither (a plain RuntimeError) counts as transient, because the task asked for retries.
"""

import errno
import traceback
from typing import Final

from fairlane.core.inputs import Failure
from fairlane.errors import FairlaneError, JobEnded, TaskError, UsageError
from fairlane.logs import redact_secrets
from fairlane.runtime.storable_text import storable

_LONGEST_MESSAGE: Final = 2_000
_LONGEST_TRACEBACK: Final = 16_000
_LONGEST_CODE: Final = 100
_LONGEST_WAIT_SECONDS: Final = 366 * 86_400.0

_BUSY: Final = frozenset({errno.EBUSY, errno.EAGAIN, errno.ETXTBSY, errno.EMFILE, errno.ENFILE})
_PERMANENT: Final[tuple[type[BaseException], ...]] = (
    FileNotFoundError, FileExistsError, IsADirectoryError, NotADirectoryError,
    ValueError, TypeError, LookupError, AttributeError, NameError, AssertionError,
    NotImplementedError, SyntaxError, ImportError, ArithmeticError, RecursionError,
)  # fmt: skip
_TRANSIENT_NAMES: Final = (
    "Timeout", "TimeoutError", "TimeoutException", "ConnectError", "NetworkError",
    "TransportError", "TemporaryError", "ServerError",
)  # fmt: skip


def classify(error: BaseException) -> Failure:
    """Return the failure of an exception, with the secrets of the attempt hidden."""
    failure = getattr(error, "failure", None)
    if isinstance(failure, Failure):
        return failure  # classified in a child process, which had the traceback
    code, retryable = _kind(error)
    names = tuple(cls.__name__ for cls in type(error).__mro__[:-2])
    trace = redact_secrets("".join(traceback.format_exception(error)))
    return Failure(
        code=storable(code)[:_LONGEST_CODE],
        message=storable(redact_secrets(_message(error))[:_LONGEST_MESSAGE]),
        retryable=retryable,
        names=names,
        traceback=storable(trace[-_LONGEST_TRACEBACK:]),
        after_seconds=_after_seconds(error),
    )


def _after_seconds(error: BaseException) -> float | None:
    """Return the wait that an error demands, if it is a sensible number."""
    seconds = getattr(error, "after_seconds", None)
    if not isinstance(seconds, int | float) or not 0 <= seconds <= _LONGEST_WAIT_SECONDS:
        return None
    return float(seconds)


def _message(error: BaseException) -> str:
    """Return the text of an error, with its class where the text is only a key or a number."""
    text = str(error)
    if isinstance(error, LookupError | SystemExit | AssertionError) or not text:
        return f"{type(error).__name__}: {text}" if text else type(error).__name__
    return text


def _kind(error: BaseException) -> tuple[str, bool]:
    if isinstance(error, TaskError):
        return error.code, error.retryable
    if isinstance(error, FairlaneError):
        return error.code, not isinstance(error, UsageError | JobEnded)
    status = _http_status(error)
    if status is not None:
        return f"http_{status}", status >= 500 or status in (408, 425, 429)
    if isinstance(error, TimeoutError):
        return "timeout", True
    if isinstance(error, ConnectionError):
        return "connection", True
    if isinstance(error, _PERMANENT):
        return ("missing_input" if isinstance(error, FileNotFoundError) else "bad_input"), False
    if isinstance(error, PermissionError):
        return "permission", True
    if isinstance(error, OSError):
        return ("busy" if error.errno in _BUSY else "io"), True
    if any(name.endswith(_TRANSIENT_NAMES) for name in (c.__name__ for c in type(error).__mro__)):
        return "connection", True
    return "error", isinstance(error, Exception)


def _http_status(error: BaseException) -> int | None:
    """Return the HTTP status of an error; each HTTP client has another attribute for it."""
    response = getattr(error, "response", None)
    for holder, name in ((response, "status_code"), (response, "status"), (error, "status"),
                         (error, "code")):  # fmt: skip
        status = getattr(holder, name, None)
        if isinstance(status, int) and 400 <= status < 600:
            return status
    return None
