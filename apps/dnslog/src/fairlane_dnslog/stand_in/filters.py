"""Filtering as AdGuard Home does it: custom rules, block lists, blocked services.

Of its rule syntax the stand-in knows `||domain^`, exact names, lines of a hosts file, `@@`,
`$important` and `$client=`. A rule with another modifier has no effect.
"""

import re
from collections.abc import Iterable, Sequence
from ipaddress import ip_address, ip_network
from typing import Final, NamedTuple

USER_LIST: Final = 0
SERVICE_LIST: Final = -2
_NETWORK_RULE: Final = re.compile(r"(@@)?(\|\|)?([^|^$/*\s]+)\^?(?:\$(.+))?")
_HOSTS_LINE: Final = re.compile(r"(?:0\.0\.0\.0|127\.0\.0\.1|::1?)\s+(\S+)(?:\s+#.*)?")
_BAR: Final = re.compile(r"(?<!\\)\|")
_COMMA: Final = re.compile(r"(?<!\\),")


class Verdict(NamedTuple):
    reason: str
    rule: str = ""
    list_id: int = 0
    service: str = ""

    @property
    def blocks(self) -> bool:
        return self.reason.startswith("Filtered")


class Rule(NamedTuple):
    text: str
    list_id: int
    domain: str
    with_parts: bool  # it holds for all hosts below its domain
    allows: bool
    important: bool
    clients: tuple[str, ...]
    other_clients: tuple[str, ...]  # it does not hold for these
    service: str = ""

    def holds_for(self, names: Sequence[str]) -> bool:
        """Return whether the rule holds for a client with these names and addresses."""
        if self.other_clients and _is_one_of(names, self.other_clients):
            return False
        return not self.clients or _is_one_of(names, self.clients)


NOT_FILTERED: Final = Verdict("NotFilteredNotFound")


class RuleIndex:
    """Rules by their domain, so that a query costs one look-up for each label of its name."""

    def __init__(self, rules: Iterable[Rule]) -> None:
        self._by_domain: dict[str, list[Rule]] = {}
        for rule in rules:
            self._by_domain.setdefault(rule.domain, []).append(rule)

    def check(self, domain: str, names: Sequence[str]) -> Verdict:
        """Return the verdict: important rules win, then allowing ones."""
        best: Rule | None = None
        for name in _with_parents(domain):
            for rule in self._by_domain.get(name, ()):
                if not (rule.with_parts or name == domain) or not rule.holds_for(names):
                    continue
                if best is None or (rule.important, rule.allows) > (best.important, best.allows):
                    best = rule
        if best is None:
            return NOT_FILTERED
        if best.service:
            return Verdict("FilteredBlockedService", best.text, best.list_id, best.service)
        reason = "NotFilteredWhiteList" if best.allows else "FilteredBlackList"
        return Verdict(reason, best.text, best.list_id)


def parse_rule(text: str, list_id: int = USER_LIST, service: str = "") -> Rule | None:
    """Return a rule, or None for comments and rules that the stand-in does not know."""
    line = text.strip()
    if not line or line[0] in "!#":
        return None
    hosts = _HOSTS_LINE.fullmatch(line)
    if hosts:
        return Rule(line, list_id, hosts[1].lower(), False, False, False, (), (), service)
    found = _NETWORK_RULE.fullmatch(line)
    if found is None:
        return None
    clients: list[str] = []
    others: list[str] = []
    important = False
    for option in _COMMA.split(found[4]) if found[4] else ():
        name, _, value = option.partition("=")
        if name == "client" and value:
            for client in _BAR.split(value):
                (others if client.startswith("~") else clients).append(_unquoted(client))
        elif name == "important":
            important = True
        else:
            return None
    return Rule(
        line,
        list_id,
        found[3].lower(),
        with_parts=found[2] is not None,
        allows=found[1] is not None,
        important=important,
        clients=tuple(clients),
        other_clients=tuple(others),
        service=service,
    )


def parse_rules(texts: Iterable[str], list_id: int = USER_LIST, service: str = "") -> list[Rule]:
    parsed = (parse_rule(text, list_id, service) for text in texts)
    return [rule for rule in parsed if rule is not None]


def _unquoted(client: str) -> str:
    name = client.removeprefix("~")
    if len(name) > 1 and name[0] == name[-1] and name[0] in "'\"":
        name = name[1:-1]
    return re.sub(r"\\(.)", r"\1", name)


def _is_one_of(names: Sequence[str], clients: Sequence[str]) -> bool:
    for client in clients:
        if client in names:
            return True
        if "/" in client and _in_network(names, client):
            return True
    return False


def _in_network(names: Sequence[str], network: str) -> bool:
    for name in names:
        try:
            if ip_address(name) in ip_network(network, strict=False):
                return True
        except ValueError:
            continue  # a name, not an address
    return False


def _with_parents(domain: str) -> list[str]:
    labels = domain.lower().split(".")
    return [".".join(labels[start:]) for start in range(len(labels))]
