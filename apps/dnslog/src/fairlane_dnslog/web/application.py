"""The Flask application of the pages."""

import logging
import time
from datetime import timedelta
from functools import cache
from pathlib import Path
from typing import Any, Final

from flask import Flask, Response, jsonify, make_response, render_template, request, url_for
from werkzeug.exceptions import HTTPException, InternalServerError
from werkzeug.local import LocalProxy
from werkzeug.middleware.proxy_fix import ProxyFix

from fairlane import FairlaneError
from fairlane_dnslog.database import DatabaseError, DatabaseUnavailable
from fairlane_dnslog.query_log import BadCursor
from fairlane_dnslog.rules.errors import InvalidRule
from fairlane_dnslog.status import read_status
from fairlane_dnslog.web import (
    api,
    audit_page,
    formats,
    language,
    log_pages,
    login_pages,
    overview_page,
    rule_pages,
    status_pages,
    theme,
)
from fairlane_dnslog.web.local_address import local_address
from fairlane_dnslog.web.login_session import LOGIN_DAYS
from fairlane_dnslog.web.program_protocol import Program
from fairlane_dnslog.web.refused import Refused
from fairlane_dnslog.web.request_guard import csrf_token, install_guard
from fairlane_dnslog.web.service_names import service_name
from fairlane_dnslog.web.session_key import StoredKeySessions
from fairlane_dnslog.web.visible_text import domain_name, plain, visible, visible_lines
from fairlane_dnslog.web.visitor import program as program_of_request
from fairlane_dnslog.web.visitor import visitor

PREFERENCE_SECONDS: Final = 365 * 86_400
STAMP: Final = Path(__file__).with_name("static") / "built" / ".stamp"
_PAGES: Final = (overview_page, log_pages, rule_pages, audit_page, status_pages, login_pages, api)
_LOGIN_HELPS: Final = ("error.login", "error.visitor")  # refusals of a person without an account

log = logging.getLogger(__name__)


def create_web(program: Program) -> Flask:
    """Return the pages of a program. Its database may be away: the pages then answer 503."""
    app = Flask("fairlane_dnslog.web", static_folder="static", template_folder="templates")
    app.extensions["dnslog"] = program
    app.session_interface = StoredKeySessions(program.database)
    app.config.update(
        SESSION_COOKIE_NAME="dnslog_session",  # cookies are shared by all ports of a host
        SESSION_COOKIE_HTTPONLY=True,
        SESSION_COOKIE_SAMESITE="Lax",
        # An answer to a request with an older cookie must not replace a newer one.
        SESSION_REFRESH_EACH_REQUEST=False,
        PERMANENT_SESSION_LIFETIME=timedelta(days=LOGIN_DAYS),
        SEND_FILE_MAX_AGE_DEFAULT=3600,
    )
    app.jinja_env.trim_blocks = True
    app.jinja_env.lstrip_blocks = True
    install_guard(app, program.settings)
    proxies = program.settings.proxies
    if proxies:
        app.wsgi_app = ProxyFix(app.wsgi_app, x_for=proxies, x_proto=proxies)  # type: ignore[method-assign]
    for pages in _PAGES:
        app.register_blueprint(pages.blueprint)
    app.add_url_rule("/healthz", view_func=health)
    app.add_url_rule("/language/<code>", view_func=set_language)
    app.add_url_rule("/theme/<name>", view_func=set_theme)
    app.register_error_handler(Refused, show_refusal)
    app.register_error_handler(BadCursor, show_bad_cursor)
    app.register_error_handler(InvalidRule, show_invalid_rule)
    app.register_error_handler(DatabaseError, show_unavailable)
    app.register_error_handler(FairlaneError, show_queue_error)
    app.register_error_handler(HTTPException, show_http_error)
    app.context_processor(template_names)
    app.jinja_env.filters.update(
        visible=visible,
        visible_lines=visible_lines,
        plain=plain,
        domain=domain_name,
        instant=formats.instant,
        clock_time=formats.clock_time,
        short_time=formats.short_time,
        stretch=formats.stretch,
        service_name=service_name,
        process_label=formats.process_label,
        duration=formats.duration,
        milliseconds=formats.milliseconds,
        number=formats.number,
        percent=formats.percent,
    )
    return app


def template_names() -> dict[str, Any]:
    return {
        "t": language.text,
        "t_or": language.text_or,
        "language": language.language(),
        "languages": language.LANGUAGES,
        "theme": theme.theme(),
        "themes": theme.THEMES,
        "visitor": LocalProxy(visitor),  # a page about a lost database must not read it
        "csrf_token": csrf_token,
        "asset": asset,
        "this_address": this_address,
    }


def asset(name: str) -> str:
    """Return the address of a built file, which changes with its content."""
    return url_for("static", filename=f"built/{name}", v=_stamp())


@cache
def _stamp() -> str:
    return STAMP.read_text()[:12] if STAMP.exists() else "0"


def this_address() -> str:
    """Return the address of this page, to which a choice of preferences leads back."""
    return request.full_path.rstrip("?") if request.method == "GET" else "/"


def health() -> tuple[Response, int]:
    """Answer a monitor, without a login: the state of the process and of each server.

    The answer is 200 while the process reaches its database, also if a server fails: a restart of
    the process would not help. The JSON has the same fields while the database is away.
    """
    program = program_of_request()
    try:
        found = read_status(program.database, program.settings, now=time.time())
    except DatabaseError as error:
        log.warning("the health is not known: %s", error)
        unknown = {server.name: "unknown" for server in program.settings.servers}
        return jsonify(ok=False, ready=False, servers=unknown), 503
    states = {server.name: server.state for server in found.servers}
    is_ok = program.is_ready and all(state in ("ok", "new") for state in states.values())
    return jsonify(ok=is_ok, ready=program.is_ready, servers=states), 200


def set_language(code: str) -> Any:
    return _with_preference(language.COOKIE, code, language.LANGUAGES)


def set_theme(name: str) -> Any:
    return _with_preference(theme.COOKIE, name, theme.THEMES)


def _with_preference(cookie: str, value: str, known: Any) -> Response:
    """Store a preference in the browser, and return to the page on which it was chosen."""
    target = local_address(request.args.get("next"), otherwise=url_for("overview.show"))
    response = make_response("", 303)
    response.headers["Location"] = target
    if value in known:
        response.set_cookie(
            cookie, value, max_age=PREFERENCE_SECONDS, samesite="Lax", httponly=True
        )
    return response


def show_refusal(refused: Refused) -> tuple[Any, int]:
    message = language.text(refused.text, **refused.values)
    return _problem(refused.status, message, may_log_in=refused.text in _LOGIN_HELPS)


def show_bad_cursor(error: BadCursor) -> tuple[Any, int]:
    return _problem(400, language.text("error.cursor", got=plain(error.got[:40])))


def show_invalid_rule(error: InvalidRule) -> tuple[Any, int]:
    return _problem(409, language.text("error.invalid_rule", problem=str(error)[:500]))


def show_unavailable(error: DatabaseError) -> tuple[Any, int]:
    """Answer 503. The reason can name hosts and files, so only the program's log has it."""
    log.warning("a page cannot be shown: %s", error)
    is_transient = isinstance(error, DatabaseUnavailable)
    message = language.text("error.database" if is_transient else "error.database_refused")
    return _problem(503 if is_transient else 500, message)


def show_queue_error(error: FairlaneError) -> tuple[Any, int]:
    log.warning("the queue refused a request of a page: %s", error)
    return _problem(503, language.text("error.queue", reason=type(error).__name__))


def show_http_error(error: HTTPException) -> Any:
    original = error.original_exception if isinstance(error, InternalServerError) else None
    if isinstance(original, DatabaseError):
        return show_unavailable(original)
    code = error.code or 500
    if code < 400:
        return error.get_response()
    message = language.text_or(f"error.{code}", error.description or error.name)
    return _problem(code, message)


def _problem(status: int, message: str, *, may_log_in: bool = False) -> tuple[Any, int]:
    """Return a page or a JSON object with a reason. The page needs no database."""
    if request.path.startswith("/api/") or request.path == "/healthz":
        return jsonify(error=message), status
    values = {"status": status, "message": message, "may_log_in": may_log_in}
    return render_template("problem.html", **values), status
