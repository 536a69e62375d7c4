"""How a command ends: its exit code says whose move it is."""

from typing import Any, Final

from fairlane.cli.program_name import command

DONE, JOB_FAILED, USAGE, NOT_FOUND, CONFLICT, UNAVAILABLE = range(6)

_HINTS: Final = {
    "duplicate": "",  # the sentence itself says what is in the way
    "invalid_request": "",
    "lane_busy": "",
    "lane_locked": "",
    "unauthorized": "give the server's token with --token or FAIRLANE_TOKEN",
}
_BY_STATUS: Final = {404: NOT_FOUND, 409: CONFLICT, 202: UNAVAILABLE, 429: UNAVAILABLE}


class Refused(Exception):
    """An answer that is a problem (RFC 9457): what it says, and how the command ends."""

    def __init__(self, problem: dict[str, Any]) -> None:
        self.problem = problem
        self.status = int(problem.get("status", 500))
        super().__init__(str(problem.get("detail") or problem.get("title") or "no reason given"))

    @property
    def hint(self) -> str:
        """Say what to do about it, in words of the command line where HTTP has its own."""
        code = self.problem.get("code")
        if code == "bad_parameters":
            return f"{command('submit')} alone lists the tasks and their parameters"
        if code in _HINTS:
            return _HINTS[code]
        if code == "undecided" and self.problem.get("id"):
            return (
                "do not submit it again: "
                f"{command('show ' + str(self.problem['id']))} tells what becomes of it"
            )
        legal = self.problem.get("legal")
        if code == "illegal_transition":
            return f"what can be done with it: {', '.join(legal)}" if legal else ""
        return str(self.problem.get("hint") or "")

    @property
    def exit_code(self) -> int:
        if self.status in _BY_STATUS:
            return _BY_STATUS[self.status]
        return UNAVAILABLE if self.status >= 500 else USAGE


class Unreachable(Exception):
    """Nobody answers at the address that was given."""


class Unanswered(Unreachable):
    """Somebody was reached and never answered: what was sent may have been taken."""


class Unwritable(Exception):
    """What was to be said cannot be written where it was to go."""


class Misused(Exception):
    """The command line itself does not make sense."""
