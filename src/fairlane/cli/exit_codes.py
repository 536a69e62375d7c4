"""Exit codes, and the exceptions that lead to them.

0 done, 1 the job failed (or the doctor found a problem), 2 wrong usage, 3 not found, 4 conflict,
5 the server or the database is unavailable.
"""

from typing import Any, Final

from fairlane.cli.program_name import command_text

DONE, JOB_FAILED, USAGE, NOT_FOUND, CONFLICT, UNAVAILABLE = range(6)

_HINTS: Final = {
    "duplicate": "",  # the detail itself names the job and the remedy
    "invalid_request": "",
    "lane_busy": "",
    "lane_locked": "",
    "unauthorized": "give the server's token with --token or FAIRLANE_TOKEN",
}
_BY_STATUS: Final = {404: NOT_FOUND, 409: CONFLICT, 202: UNAVAILABLE, 429: UNAVAILABLE}


class ApiProblem(Exception):
    """A problem response (RFC 9457), with its hint and exit code."""

    def __init__(self, problem: dict[str, Any]) -> None:
        self.problem = problem
        self.status = int(problem.get("status", 500))
        super().__init__(str(problem.get("detail") or problem.get("title") or "no reason given"))

    @property
    def hint(self) -> str:
        """The remedy, in terms of the command line where the response has HTTP terms."""
        code = self.problem.get("code")
        if code == "bad_parameters":
            return (
                f"{command_text('submit')} without arguments lists the tasks and their parameters"
            )
        if code in _HINTS:
            return _HINTS[code]
        if code == "undecided" and self.problem.get("id"):
            return (
                "do not submit it again: "
                f"{command_text('show ' + str(self.problem['id']))} shows its state"
            )
        legal = self.problem.get("legal")
        if code == "illegal_transition":
            return f"actions that its state allows: {', '.join(legal)}" if legal else ""
        return str(self.problem.get("hint") or "")

    @property
    def exit_code(self) -> int:
        if self.status in _BY_STATUS:
            return _BY_STATUS[self.status]
        return UNAVAILABLE if self.status >= 500 else USAGE


class Unreachable(Exception):
    """No server accepts connections at the URL."""


class NoResponse(Unreachable):
    """The server accepted the connection but sent no response; it may have done the request."""


class OutputUnwritable(Exception):
    """Standard output cannot be written, for example because the disk is full."""


class UsageProblem(Exception):
    """The arguments of the command are wrong."""
