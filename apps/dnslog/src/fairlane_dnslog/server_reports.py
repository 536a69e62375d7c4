"""The log lines about the servers: one for each change of state, and none for each attempt.

A server that is down for a night fails thousands of jobs. The pulls and the reconciliations of a
server share their lines: the second work that fails for the same reason adds none.
"""

import logging
import threading
from collections import defaultdict
from typing import Final

from fairlane import Permanent, Retryable

PULL: Final = "pull"
RECONCILE: Final = "reconcile"
_REFUSED: Final = "login_refused"
_SAME: Final = {"server_paused": _REFUSED}  # a pause follows from a refused login
_OF_THE_SERVER: Final = ("unavailable", _REFUSED, "bad_answer")

log = logging.getLogger(__name__)


class ServerReports:
    """The failing works of each server in this process, with the code of their error."""

    def __init__(self) -> None:
        self._door = threading.Lock()
        self._failing: dict[str, dict[str, str]] = defaultdict(dict)

    def report_failure(self, server: str, work: str, error: Exception, *, seconds: float) -> None:
        """Log a failure that is new; `seconds` is the interval of the next attempts."""
        code = _code_of(error)
        with self._door:
            failing = self._failing[server]
            is_new = code not in failing.values()
            failing[work] = code
        if not is_new:
            return
        message = str(error).removeprefix(f'server "{server}": ') or type(error).__name__
        if code == _REFUSED:
            log.warning("%s: %s", server, message)
        else:
            trace = None if isinstance(error, Permanent | Retryable) else error
            log.warning("%s: %s; tried again every %g s", server, message, seconds, exc_info=trace)

    def report_success(self, server: str, work: str) -> None:
        """Log the end of a failure; equal failures of the other work end with it."""
        with self._door:
            failing = self._failing[server]
            code = failing.pop(work, None)
            for other in [name for name, known in failing.items() if known == code]:
                del failing[other]
        if code is not None:
            result = "answers again" if code in _OF_THE_SERVER else f"{work} succeeds again"
            log.warning("%s: %s", server, result)


class _FailedJobs(logging.Filter):
    """Drops Fairlane's line for each failed job of the works that are reported here."""

    def filter(self, record: logging.LogRecord) -> bool:
        return getattr(record, "task", None) not in (PULL, RECONCILE)


_failed_jobs: Final = _FailedJobs()


def drop_lines_of_jobs() -> None:
    """Drop the lines of Fairlane that these reports replace; a second call changes nothing."""
    logging.getLogger("fairlane.engine").addFilter(_failed_jobs)


def _code_of(error: Exception) -> str:
    code = str(getattr(error, "code", None) or type(error).__name__)
    return _SAME.get(code, code)
