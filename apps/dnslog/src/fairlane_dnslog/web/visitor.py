"""The person behind a request: an account, a visitor without one, or a stranger."""

from collections.abc import Callable
from functools import wraps
from typing import Any, ParamSpec, TypeVar

from flask import current_app, g, redirect, request, url_for
from msgspec import Struct

from fairlane_dnslog.web.accounts import Account
from fairlane_dnslog.web.login_session import find_session
from fairlane_dnslog.web.program_protocol import Program
from fairlane_dnslog.web.refused import Refused

Arguments = ParamSpec("Arguments")
Answer = TypeVar("Answer")


class Visitor(Struct, frozen=True, kw_only=True):
    account: Account | None
    may_read: bool

    @property
    def name(self) -> str:
        return "" if self.account is None else self.account.name

    @property
    def may_edit(self) -> bool:
        return self.account is not None and self.account.may_edit


def program() -> Program:
    found: Program = current_app.extensions["dnslog"]
    return found


def visitor() -> Visitor:
    """Return the person behind this request; the account is read once per request."""
    if "visitor" not in g:
        account = find_session(program().database)
        may_read = account is not None or program().settings.visitors
        g.visitor = Visitor(account=account, may_read=may_read)
    found: Visitor = g.visitor
    return found


def for_readers(page: Callable[Arguments, Answer]) -> Callable[Arguments, Any]:
    """Send a stranger to the login, and back to the page afterwards."""

    @wraps(page)
    def guarded(*args: Arguments.args, **values: Arguments.kwargs) -> Any:
        if not visitor().may_read:
            if request.method != "GET" or request.path.startswith("/api/"):
                raise Refused(401, "error.login")
            here = request.full_path.rstrip("?")
            return redirect(url_for("login.form", next=here if here != "/" else None))
        return page(*args, **values)

    return guarded


def for_editors(page: Callable[Arguments, Answer]) -> Callable[Arguments, Any]:
    """Refuse a person who may only read."""

    @for_readers
    @wraps(page)
    def guarded(*args: Arguments.args, **values: Arguments.kwargs) -> Any:
        if not visitor().may_edit:
            raise Refused(403, "error.editor" if visitor().account else "error.visitor")
        return page(*args, **values)

    return guarded
