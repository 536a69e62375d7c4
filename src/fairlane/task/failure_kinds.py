"""What kind of trouble an exception is: passing, or here to stay.

Passing: time-outs, lost connections, 5xx and 429, temporary I/O or permission, anything busy. Here
to stay: missing or corrupt input, bad parameters, mistakes in the program. An exception that says
neither (a plain RuntimeError) is taken as passing: the author of the task asked for retries, after
all.
"""

import errno
import traceback
from typing import Final

from fairlane.core.inputs import Failure
from fairlane.errors import FairlaneError, JobEnded, TaskError, UsageError
from fairlane.logs import hide
from fairlane.runtime.storable_text import storable

_LONGEST_MESSAGE: Final = 2_000
_LONGEST_TRACEBACK: Final = 16_000
_LONGEST_CODE: Final = 100
_LONGEST_WAIT_SECONDS: Final = 366 * 86_400.0

_BUSY: Final = frozenset({errno.EBUSY, errno.EAGAIN, errno.ETXTBSY, errno.EMFILE, errno.ENFILE})
_LASTING: Final[tuple[type[BaseException], ...]] = (
    FileNotFoundError, FileExistsError, IsADirectoryError, NotADirectoryError,
    ValueError, TypeError, LookupError, AttributeError, NameError, AssertionError,
    NotImplementedError, SyntaxError, ImportError, ArithmeticError, RecursionError,
)  # fmt: skip
_PASSING_NAMES: Final = (
    "Timeout", "TimeoutError", "TimeoutException", "ConnectError", "NetworkError",
    "TransportError", "TemporaryError", "ServerError",
)  # fmt: skip


def classify(error: BaseException) -> Failure:
    """Say what kind of trouble this is; secrets of the attempt that this is about are hidden."""
    told = getattr(error, "failure", None)
    if isinstance(told, Failure):
        return told  # classed in a child process, where the traceback was
    code, retryable = _kind(error)
    names = tuple(cls.__name__ for cls in type(error).__mro__[:-2])
    trace = hide("".join(traceback.format_exception(error)))
    return Failure(
        code=storable(code)[:_LONGEST_CODE],
        message=storable(hide(_message(error))[:_LONGEST_MESSAGE]),
        retryable=retryable,
        names=names,
        traceback=storable(trace[-_LONGEST_TRACEBACK:]),
        after_seconds=_after_seconds(error),
    )


def _after_seconds(error: BaseException) -> float | None:
    """Return the wait that an error asks for, if it is one that can be waited out."""
    wanted = getattr(error, "after_seconds", None)
    if not isinstance(wanted, int | float) or not 0 <= wanted <= _LONGEST_WAIT_SECONDS:
        return None
    return float(wanted)


def _message(error: BaseException) -> str:
    """Return what an error says; some say only a key or a number, which needs their name."""
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
    if isinstance(error, _LASTING):
        return ("missing_input" if isinstance(error, FileNotFoundError) else "bad_input"), False
    if isinstance(error, PermissionError):
        return "permission", True
    if isinstance(error, OSError):
        return ("busy" if error.errno in _BUSY else "io"), True
    if any(name.endswith(_PASSING_NAMES) for name in (c.__name__ for c in type(error).__mro__)):
        return "connection", True
    return "error", isinstance(error, Exception)


def _http_status(error: BaseException) -> int | None:
    """Find the status that the usual HTTP clients hang on their errors, each in its own place."""
    response = getattr(error, "response", None)
    for holder, name in ((response, "status_code"), (response, "status"), (error, "status"),
                         (error, "code")):  # fmt: skip
        status = getattr(holder, name, None)
        if isinstance(status, int) and 400 <= status < 600:
            return status
    return None
