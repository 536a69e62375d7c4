"""The pages for tests: a program on a real database, and people who visit it."""

import secrets
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from functools import cache
from pathlib import Path
from typing import Any, ClassVar, Final

from flask import Flask
from flask import session as flask_session
from flask.testing import FlaskClient
from jinja2 import BytecodeCache
from jinja2.bccache import Bucket
from werkzeug.test import TestResponse

from fairlane_dnslog.database import Database
from fairlane_dnslog.entries import QueryEntry
from fairlane_dnslog.program import Program
from fairlane_dnslog.query_log import store_page
from fairlane_dnslog.settings import Settings
from fairlane_dnslog.web.accounts import Account, find_account, hash_password
from fairlane_dnslog.web.application import create_web
from fairlane_dnslog.web.login_session import begin_session, store_login

PASSWORD: Final = "correct horse"  # noqa: S105 - of accounts in tests
EDITOR: Final = "anna"
VIEWER: Final = "leo"
ORIGIN: Final = "http://localhost"


@cache
def password_hash() -> str:
    """Return the hash of `PASSWORD`, which takes a tenth of a second on purpose."""
    return hash_password(PASSWORD)


def add_account(database: Database, name: str, role: str) -> None:
    with database.transaction() as tx:
        tx.run(
            "INSERT INTO account (name, password_hash, role) VALUES (:name, :hash, :role)",
            name=name, hash=password_hash(), role=role,
        )  # fmt: skip


class CompiledTemplates(BytecodeCache):
    """Templates that were compiled once for all applications of a test process."""

    compiled: ClassVar[dict[str, bytes]] = {}

    def load_bytecode(self, bucket: Bucket) -> None:
        if bucket.key in self.compiled:
            bucket.bytecode_from_string(self.compiled[bucket.key])

    def dump_bytecode(self, bucket: Bucket) -> None:
        self.compiled[bucket.key] = bucket.bytecode_to_string()


class Person:
    """A browser of one person; `post` sends the form as the page would."""

    def __init__(self, app: Flask) -> None:
        self.app = app
        self.client: FlaskClient = app.test_client()

    def get(self, path: str, **options: Any) -> TestResponse:
        return self.client.get(path, **options)

    def post(self, path: str, fields: dict[str, Any] | None = None, **options: Any) -> TestResponse:
        headers = {"Origin": ORIGIN, **options.pop("headers", {})}
        data = {"csrf": self.token(), **(fields or {})}
        return self.client.post(path, data=data, headers=headers, **options)

    def token(self) -> str:
        """Return the token of the forms, as a page with a form gives it."""
        with self.client.session_transaction() as session:
            if "csrf" not in session:
                session["csrf"] = secrets.token_urlsafe(24)
            return str(session["csrf"])

    def log_in(self, name: str = EDITOR, password: str = PASSWORD) -> TestResponse:
        return self.post("/login", {"name": name, "password": password})

    def enter(self, account: Account) -> None:
        """Begin a session without the login, whose hash takes time."""
        with self.app.test_request_context():
            with self.app.extensions["dnslog"].database.transaction() as tx:
                login = store_login(tx, account)
            assert login is not None
            begin_session(login)
            begun = dict(flask_session)
        with self.client.session_transaction() as session:
            session.update(begun)


class Site:
    """The pages of one program."""

    def __init__(self, program: Program) -> None:
        self.program = program
        self.database = program.database
        self.app = create_web(program)
        self.app.jinja_env.bytecode_cache = CompiledTemplates()

    def stranger(self) -> Person:
        return Person(self.app)

    def person(self, name: str = EDITOR) -> Person:
        """Return a person who has logged in."""
        person = Person(self.app)
        with self.database.reading() as tx:
            account = find_account(tx, name)
        assert account is not None
        person.enter(account)
        return person

    def store(self, entries: Sequence[QueryEntry], server: str = "home") -> None:
        with self.database.transaction() as tx:
            store_page(tx, server, entries)


@contextmanager
def open_site(folder: Path, *, is_started: bool = False, **changes: Any) -> Iterator[Site]:
    """Return the pages with an editor and a viewer; the queue runs only if it is started."""
    values: dict[str, Any] = {"database": f"sqlite:///{folder}/dnslog.db", **changes}
    program = Program(Settings(folder=folder, **values), work=False)
    with closing(program.database):
        program.prepare()
        add_account(program.database, EDITOR, "editor")
        add_account(program.database, VIEWER, "viewer")
        if is_started:
            program.start()
        try:
            yield Site(program)
        finally:
            if is_started:
                program.stop()
