"""The kind of failure that an exception means: transient or permanent.

Transient: timeouts, lost connections, HTTP 5xx and 429, temporary I/O or permission errors, busy
files. Permanent: missing or corrupt input, bad parameters, mistakes in the program. An exception
that shows neither (a plain RuntimeError) counts as transient, because the task asked for retries.

Classes of libraries are recognized by their names and modules, so that no library is imported for
its exceptions alone.
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
    "ConnectError", "NetworkError", "TransportError", "TemporaryError", "ServerError",
)  # fmt: skip
_TIMEOUT_NAMES: Final = (
    "Timeout", "TimeoutError", "TimeoutException", "TimeoutExpired", "TimedOut", "TooSlowError",
    "DeadlineExceeded",
)  # fmt: skip
_TIMEOUT_CODES: Final = ("http_408", "http_504")
_CORRUPT_NAMES: Final = frozenset({
    "gzip.BadGzipFile", "zipfile.BadZipFile", "_lzma.LZMAError", "zlib.error", "tarfile.TarError",
    "PIL.UnidentifiedImageError", "struct.error", "wave.Error", "_pickle.UnpicklingError",
})  # fmt: skip
# An OSError without a number is a complaint about the content if one of these modules raises it.
_DECODERS: Final = frozenset({"PIL", "bz2", "_compression", "compression", "gzip", "lzma"})
# An EOFError is a lost connection if one of these modules raises it.
_CONNECTIONS: Final = frozenset({
    "asyncio", "multiprocessing", "ftplib", "imaplib", "smtplib", "poplib", "nntplib", "telnetlib",
    "socket", "ssl", "http", "urllib", "paramiko", "rpyc",
})  # fmt: skip


def classify(error: BaseException) -> Failure:
    """Return the failure of an exception, with the secrets of the attempt hidden."""
    failure = getattr(error, "failure", None)
    if isinstance(failure, Failure):
        return failure  # classified in a child process, which had the traceback
    code, retryable = _kind(error)
    names = (*(cls.__name__ for cls in type(error).__mro__[:-2]), *_groups(error, code))
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
    if _is_timeout(error):
        return "timeout", True
    if isinstance(error, ConnectionError):
        return "connection", True
    if isinstance(error, EOFError) and _modules(error) & _CONNECTIONS:
        return "connection", True
    if _is_corrupt_input(error):
        return "corrupt_input", False
    if isinstance(error, _PERMANENT):
        return ("missing_input" if isinstance(error, FileNotFoundError) else "bad_input"), False
    if isinstance(error, PermissionError):
        return "permission", True
    if isinstance(error, OSError):
        return ("busy" if error.errno in _BUSY else "io"), True
    if any(name.endswith(_TRANSIENT_NAMES) for name in (c.__name__ for c in type(error).__mro__)):
        return "connection", True
    return "error", isinstance(error, Exception)


def _groups(error: BaseException, code: str) -> list[str]:
    """Return the names of groups of errors for `Retry(on=…)`: `timeout`, `4xx`, `5xx`."""
    groups = [f"{code[5]}xx"] if code.startswith(("http_4", "http_5")) else []
    if code in _TIMEOUT_CODES or _is_timeout(error):
        groups.append("timeout")
    return groups


def _is_timeout(error: BaseException) -> bool:
    """Return whether an error is a time-out, or the reason of an error of urllib is one.

    A group of errors is one if all errors in it are.
    """
    if isinstance(error, BaseExceptionGroup):
        return all("timeout" in _groups(one, _kind(one)[0]) for one in error.exceptions)
    if isinstance(error, TimeoutError):
        return True
    if any(cls.__name__.endswith(_TIMEOUT_NAMES) for cls in type(error).__mro__):
        return True
    return isinstance(getattr(error, "reason", None), TimeoutError)


def _is_corrupt_input(error: BaseException) -> bool:
    if isinstance(error, EOFError):
        return True  # a file that is shorter than its format demands
    if isinstance(error, OSError) and error.errno is None and _modules(error) & _DECODERS:
        return True
    names = {f"{cls.__module__}.{cls.__name__}" for cls in type(error).__mro__}
    return not names.isdisjoint(_CORRUPT_NAMES)


def _modules(error: BaseException) -> set[str]:
    """Return the packages of an error's class and of the function that raised it."""
    modules = [type(error).__module__]
    trace = error.__traceback__
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    if trace is not None:
        modules.append(str(trace.tb_frame.f_globals.get("__name__")))
    return {module.partition(".")[0] for module in modules}


def _http_status(error: BaseException) -> int | None:
    """Return the HTTP status of an error; each HTTP client has another attribute for it."""
    response = getattr(error, "response", None)
    for holder, name in ((response, "status_code"), (response, "status"), (error, "status"),
                         (error, "code")):  # fmt: skip
        status = getattr(holder, name, None)
        if isinstance(status, int) and 400 <= status < 600:
            return status
    return None
