"""Errors of timed rules.

RuleError            the call was refused
├── InvalidRule      a field of the rule is not acceptable
├── TooManyRules     the number of rules has reached its bound
├── RuleNotFound     no rule has this id
├── StaleRule        the rule was changed after the caller had read it
└── BlockNotKept     the server does not store the lines that were written
"""


class RuleError(Exception):
    """A refused call; `code` is stable, and the message contains the remedy."""

    code = "rule_refused"


class InvalidRule(RuleError):
    """A field of a rule has a value that is not acceptable."""

    code = "rule_invalid"

    def __init__(self, field: str, message: str) -> None:
        super().__init__(f"{field}: {message}")
        self.field = field
        self.message = message


class TooManyRules(RuleError):
    code = "rule_too_many"

    def __init__(self, limit: int) -> None:
        super().__init__(f"there are {limit} rules already, the most possible; delete one first")
        self.limit = limit


class RuleNotFound(RuleError):
    code = "rule_not_found"

    def __init__(self, rule: int) -> None:
        super().__init__(f"no rule has the id {rule}; it may have been deleted: reload the list")
        self.rule = rule


class StaleRule(RuleError):
    """The rule was changed by another person since the caller read it."""

    code = "rule_stale"

    def __init__(self, rule: int, *, got: str, expected: str, changed_by: str) -> None:
        super().__init__(
            f"rule {rule} was changed in the meantime, last by {changed_by or 'SQL'!r} (got "
            f"revision {got}, expected {expected}); reload it and make the change again"
        )
        self.rule = rule
        self.got = got
        self.expected = expected
        self.changed_by = changed_by


class BlockNotKept(RuleError):
    """The server lost or changed the written lines, several times in a row."""

    code = "block_not_kept"

    def __init__(self, server: str, attempts: int) -> None:
        super().__init__(
            f"the server {server!r} did not store our filter lines in {attempts} attempts; another "
            "program may be writing its custom rules: stop that program, or wait for the next try"
        )
        self.server = server
        self.attempts = attempts
