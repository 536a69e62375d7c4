"""Login, logout and the change of one's password."""

import time
from typing import Any

from flask import Blueprint, flash, redirect, render_template, request, url_for

from fairlane_dnslog.rules.audit import record_audit
from fairlane_dnslog.web.accounts import (
    LONGEST_PASSWORD,
    SHORTEST_PASSWORD,
    BadAccount,
    find_account,
    is_right_password,
    list_accounts,
    store_password,
)
from fairlane_dnslog.web.language import text
from fairlane_dnslog.web.local_address import local_address
from fairlane_dnslog.web.login_limit import TooManyAttempts, begin_attempt, record_success
from fairlane_dnslog.web.login_session import begin_session, end_session, store_login
from fairlane_dnslog.web.refused import Refused
from fairlane_dnslog.web.visitor import for_readers, program, visitor

blueprint = Blueprint("login", __name__)


@blueprint.get("/login")
def form() -> Any:
    target = local_address(request.args.get("next"), otherwise=url_for("overview.show"))
    if visitor().account is not None:
        return redirect(target)
    return _form(target)


@blueprint.post("/login")
def log_in() -> Any:
    name = request.form.get("name", "").strip()
    target = local_address(request.form.get("next"), otherwise=url_for("overview.show"))
    database, address, now = program().database, request.remote_addr or "", time.time()
    try:
        attempt = begin_attempt(database, address=address, name=name, now=now)
    except TooManyAttempts as error:
        problem = text("login.too_many", minutes=-(-error.seconds // 60))
        answer = _form(target, name=name, problem=problem)
        return answer, 429, {"Retry-After": str(error.seconds)}
    with database.reading() as tx:
        account = find_account(tx, name)
    login = None
    if is_right_password(account, request.form.get("password", "")) and account is not None:
        with database.transaction() as tx:
            login = store_login(tx, account)
    if login is None:
        return _form(target, name=name, problem=text("login.wrong")), 401
    record_success(database, attempt, address=address, name=name)
    begin_session(login)
    return redirect(target, 303)


@blueprint.post("/logout")
def log_out() -> Any:
    end_session(program().database)
    return redirect(url_for("overview.show" if program().settings.visitors else "login.form"), 303)


@blueprint.get("/account")
@for_readers
def account() -> Any:
    if visitor().account is None:
        return redirect(url_for("login.form", next=url_for("login.account")))
    return render_template("account.html", shortest=SHORTEST_PASSWORD)


@blueprint.post("/account")
@for_readers
def change_password() -> Any:
    """Store a new password. Every other session of the account ends; this one continues."""
    own = visitor().account
    if own is None:
        raise Refused(401, "error.login")
    database, address, now = program().database, request.remote_addr or "", time.time()
    try:
        attempt = begin_attempt(database, address=address, name=own.name, now=now)
        if not is_right_password(own, request.form.get("password", "")):
            return _account_form(text("account.wrong"), 401)
        record_success(database, attempt, address=address, name=own.name)
        if request.form.get("new") != request.form.get("again"):
            return _account_form(text("account.differ"), 400)
        with database.transaction() as tx:
            stored = store_password(tx, own, request.form.get("new", ""))
            login = stored and store_login(tx, stored)
            if not login:
                return _account_form(text("account.wrong"), 401)
            record_audit(
                tx, at=now, actor=own.name, action="password changed", subject=own.name, detail={}
            )
    except TooManyAttempts as error:
        return _account_form(text("login.too_many", minutes=-(-error.seconds // 60)), 429)
    except BadAccount:
        problem = text("account.short", low=SHORTEST_PASSWORD, high=LONGEST_PASSWORD)
        return _account_form(problem, 400)
    begin_session(login)
    flash(text("account.changed"))
    return redirect(url_for("login.account"), 303)


def _form(target: str, *, name: str = "", problem: str = "") -> str:
    with program().database.reading() as tx:
        has_accounts = bool(list_accounts(tx))
    return render_template(
        "login.html", target=target, name=name, problem=problem, has_accounts=has_accounts
    )


def _account_form(problem: str, status: int) -> tuple[str, int]:
    return render_template("account.html", shortest=SHORTEST_PASSWORD, problem=problem), status
