"""The person behind a request: an account, a visitor without one, or a stranger."""

from collections.abc import Callable
from functools import wraps
from typing import Any, ParamSpec, TypeVar

from flask import current_app, g, redirect, request, session, url_for
from msgspec import Struct

from fairlane_dnslog.web.accounts import Account, find_account
from fairlane_dnslog.web.program_protocol import Program
from fairlane_dnslog.web.refused import Refused
from fairlane_dnslog.web.session_key import require_session

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
        account = _account_of_session()
        may_read = account is not None or program().settings.visitors
        g.visitor = Visitor(account=account, may_read=may_read)
    found: Visitor = g.visitor
    return found


def _account_of_session() -> Account | None:
    require_session()
    name = session.get("account")
    if not isinstance(name, str):
        return None
    with program().database.reading() as tx:
        account = find_account(tx, name)
    if account is None or account.proof != session.get("proof"):
        session.clear()  # the account is gone, or its password is another one
        return None
    return account


def begin_session(account: Account) -> None:
    session.clear()  # also the token of the form, which another person may know
    session.permanent = True
    session["account"] = account.name
    session["proof"] = account.proof
    g.pop("visitor", None)


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
