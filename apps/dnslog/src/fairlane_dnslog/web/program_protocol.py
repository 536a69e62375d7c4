"""The interface between the pages and the program: everything that the pages cannot read from the
database themselves."""

from typing import Protocol

from fairlane_dnslog.database import Database
from fairlane_dnslog.program_status import ServiceChoice, Status
from fairlane_dnslog.rules.rule import Rule, RuleDraft, RuleSet
from fairlane_dnslog.settings import Settings


class Program(Protocol):
    """The program behind the pages. Each verb may be called from any thread.

    A verb on a server that is not in the settings raises `BadSetting`; the verbs on rules raise the
    errors of `rules.errors`.
    """

    @property
    def settings(self) -> Settings: ...

    @property
    def database(self) -> Database: ...

    @property
    def is_ready(self) -> bool:
        """Whether this process has started, with its database and its queue."""

    @property
    def console_address(self) -> str:
        """The address of the Fairlane console, empty where there is none."""

    def current_rules(self) -> RuleSet:
        """Return the rules as this process knows them."""

    def save_rule(
        self, draft: RuleDraft, *, actor: str, rule: int | None = None, revision: str = ""
    ) -> Rule:
        """Store a new rule, or a new state of the rule with this id and revision."""

    def enable_rule(self, rule: int, *, enabled: bool, revision: str, actor: str) -> Rule: ...

    def delete_rule(self, rule: int, *, revision: str, actor: str) -> None: ...

    def services(self) -> tuple[ServiceChoice, ...]:
        """Return the services that the servers know; none while no server has answered."""

    def client_names(self) -> frozenset[str]:
        """Return the names that administrators gave to clients, by which filter rules match."""

    def status(self) -> Status: ...

    def pull_now(self, server: str, *, actor: str) -> None:
        """Submit a pull of a server; return without waiting for it."""

    def set_pull_seconds(self, server: str, seconds: float, *, actor: str) -> None:
        """Change the interval of the pulls of a server, in all processes."""

    def resume_server(self, server: str, *, actor: str) -> None:
        """End the pause of a server whose login was refused; pull it, and apply the rules."""
