"""AdGuard Home's API, as far as it is documented and this program uses it."""

from collections.abc import Callable, Mapping
from typing import Any, Final, NamedTuple

import msgspec

from fairlane_dnslog.stand_in.household import DEVICES
from fairlane_dnslog.stand_in.queries import LoggedQuery
from fairlane_dnslog.stand_in.server_state import BLOCK_LIST, ServerState
from fairlane_dnslog.stand_in.services import SERVICES
from fairlane_dnslog.timestamps import BadTime, format_time_ns, parse_time_ns

VERSION: Final = "v0.107.65-stand-in"
LARGEST_PAGE: Final = 100_000
_RESPONSE_STATUS: Final[Mapping[str, Callable[[str], bool]]] = {
    "all": lambda _: True,
    "filtered": lambda reason: reason not in ("NotFilteredNotFound", "NotFilteredError"),
    "blocked": lambda reason: reason in ("FilteredBlackList", "FilteredBlockedService"),
    "blocked_services": lambda reason: reason == "FilteredBlockedService",
    "blocked_safebrowsing": lambda reason: reason == "FilteredSafeBrowsing",
    "blocked_parental": lambda reason: reason == "FilteredParental",
    "whitelisted": lambda reason: reason == "NotFilteredWhiteList",
    "rewritten": lambda reason: reason.startswith("Rewrite"),
    "safe_search": lambda reason: reason == "FilteredSafeSearch",
    "processed": lambda reason: reason.startswith("NotFiltered"),
}


class Request(NamedTuple):
    method: str
    path: str
    query: Mapping[str, str]
    body: bytes


class Response(NamedTuple):
    status: int
    body: bytes = b""
    kind: str = "application/json"


class _SetRules(msgspec.Struct):
    rules: list[str] | None


class _SetProtection(msgspec.Struct):
    enabled: bool
    duration: int = 0


class _SetServices(msgspec.Struct):
    ids: list[str]
    schedule: dict[str, Any] | None = None


class Api:
    """The routes of one stand-in."""

    def __init__(self, state: ServerState) -> None:
        self._state = state
        self._routes: dict[tuple[str, str], Callable[[Request], Response]] = {
            ("GET", "/control/status"): self._status,
            ("GET", "/control/querylog"): self._querylog,
            ("POST", "/control/querylog_clear"): self._clear_log,
            ("GET", "/control/filtering/status"): self._filtering,
            ("POST", "/control/filtering/set_rules"): self._set_rules,
            ("GET", "/control/filtering/check_host"): self._check_host,
            ("POST", "/control/protection"): self._set_protection,
            ("GET", "/control/blocked_services/all"): self._all_services,
            ("GET", "/control/blocked_services/get"): self._blocked_services,
            ("PUT", "/control/blocked_services/update"): self._set_services,
            ("GET", "/control/clients"): self._clients,
        }

    def answer(self, request: Request) -> Response:
        route = self._routes.get((request.method, request.path))
        if route is None:
            if any(path == request.path for _, path in self._routes):
                return _text(405, "only another method is allowed")
            return _text(404, "404 page not found")
        try:
            with self._state.lock:
                self._state.advance()
                return route(request)
        except (msgspec.MsgspecError, BadTime) as error:
            return _text(400, str(error))

    def _status(self, _: Request) -> Response:
        state = self._state
        now_ns = state.now_ns()
        is_on = state.protection.is_on(now_ns)
        until_ns = state.protection.until_ns
        rest_ms = 0 if is_on or until_ns is None else (until_ns - now_ns) // 1_000_000
        return _json(
            {
                "version": VERSION,
                "language": "en",
                "dns_addresses": ["127.0.0.1"],
                "dns_port": 53,
                "http_port": 3000,
                "protection_disabled_duration": rest_ms,
                "start_time": state.started_ns // 1_000_000,
                "protection_enabled": is_on,
                "dhcp_available": False,
                "running": True,
            }
        )

    def _querylog(self, request: Request) -> Response:
        state = self._state
        older_than = request.query.get("older_than", "")
        page = state.log.page(
            older_than_ns=parse_time_ns(older_than) if older_than else None,
            limit=_limit(request.query.get("limit", "")),
            matches=_matcher(request.query),
        )
        offset = state.options.offset_minutes
        oldest = (
            "" if page.oldest_ns is None else format_time_ns(page.oldest_ns, offset_minutes=offset)
        )
        rows = [row.to_row(offset_minutes=offset) for row in page.rows]
        return _json({"data": rows, "oldest": oldest})

    def _clear_log(self, _: Request) -> Response:
        self._state.log.clear("cleared")
        return _text(200, "")

    def _filtering(self, _: Request) -> Response:
        state = self._state
        block_list = {
            "id": BLOCK_LIST,
            "name": "Household block list",
            "url": "https://lists.example/household.txt",
            "enabled": True,
            "rules_count": len(state.block_list),
            "last_updated": "2026-11-01T00:00:00Z",
        }
        return _json(
            {
                "filters": [block_list],
                "whitelist_filters": [],
                "user_rules": state.user_rules,
                "interval": 24,
                "enabled": True,
            }
        )

    def _set_rules(self, request: Request) -> Response:
        self._state.set_rules(msgspec.json.decode(request.body, type=_SetRules).rules or [])
        return _text(200, "")

    def _check_host(self, request: Request) -> Response:
        client = request.query.get("client", "")
        name = request.query.get("name", "")
        verdict = self._state.check(name, client, self._state.now_ns())
        rules = [{"filter_list_id": verdict.list_id, "text": verdict.rule}] if verdict.rule else []
        return _json(
            {
                "reason": verdict.reason,
                "rule": verdict.rule,
                "rules": rules,
                "filter_id": verdict.list_id,
                "service_name": verdict.service,
                "cname": "",
                "ip_addrs": None,
            }
        )

    def _set_protection(self, request: Request) -> Response:
        wanted = msgspec.json.decode(request.body, type=_SetProtection)
        if wanted.enabled and wanted.duration > 0:
            return _text(400, "Setting a duration is only allowed with protection disabling")
        self._state.set_protection(enabled=wanted.enabled, duration_ms=wanted.duration)
        return _text(200, "OK\n")

    def _all_services(self, _: Request) -> Response:
        services = [
            {
                "id": service.id,
                "name": service.name,
                "icon_svg": "",
                "rules": service.rules,
                "group_id": service.group,
            }
            for service in SERVICES
        ]
        groups = [{"id": group} for group in sorted({service.group for service in SERVICES})]
        return _json({"blocked_services": services, "groups": groups})

    def _blocked_services(self, _: Request) -> Response:
        return _json({"ids": self._state.service_ids, "schedule": {"time_zone": "UTC"}})

    def _set_services(self, request: Request) -> Response:
        wanted = msgspec.json.decode(request.body, type=_SetServices)
        known = {service.id for service in SERVICES}
        unknown = [name for name in wanted.ids if name not in known]
        if unknown:
            return _text(422, f'validating: unknown blocked-service "{unknown[0][:60]}"')
        self._state.set_services(wanted.ids)
        return _text(200, "")

    def _clients(self, _: Request) -> Response:
        known = [
            {"name": device.name, "ids": [device.ip], "use_global_settings": True, "tags": []}
            for device in DEVICES
            if device.registered
        ]
        seen = [
            {"ip": device.ip, "name": device.name, "source": "ARP", "whois_info": {}}
            for device in DEVICES
            if not device.registered
        ]
        return _json({"clients": known, "auto_clients": seen, "supported_tags": []})


def _matcher(query: Mapping[str, str]) -> Callable[[LoggedQuery], bool] | None:
    term = query.get("search", "").lower()
    status = query.get("response_status", "") or "all"
    if status not in _RESPONSE_STATUS:
        raise msgspec.ValidationError(f"invalid value {status[:60]}")
    if not term and status == "all":
        return None
    fits = _RESPONSE_STATUS[status]
    exact = len(term) > 1 and term[0] == term[-1] == '"'
    term = term.strip('"') if exact else term

    def matches(row: LoggedQuery) -> bool:
        texts = (row.domain.lower(), row.client, row.client_name.lower())
        found = term in texts if exact else any(term in text for text in texts)
        return (not term or found) and fits(row.reason)

    return matches


def _limit(text: str) -> int:
    try:
        return min(int(text), LARGEST_PAGE)
    except ValueError:
        return 500  # as AdGuard Home does


def _json(value: object) -> Response:
    return Response(200, msgspec.json.encode(value))


def _text(status: int, text: str) -> Response:
    return Response(status, text.encode(), "text/plain; charset=utf-8")
