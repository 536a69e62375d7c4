"""The settings of the operator: flags first, then the environment, then one TOML file."""

import os
import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import Any, Final
from urllib.parse import urlsplit
from zoneinfo import ZoneInfo, available_timezones

from fairlane import BadSetting
from fairlane_dnslog.machine_timezone import find_machine_timezone

PREFIX: Final = "DNSLOG_"
SETTINGS_FILE: Final = "dnslog.toml"
DATABASE_FILE: Final = "dnslog.db"
QUEUE_FILE: Final = "queue.db"
MOST_SERVERS: Final = 50
HOME: Final = "home"  # the server of DNSLOG_URL
_NAME: Final = re.compile(r"[a-z0-9][a-z0-9_-]{0,39}")
_SERVER_KEYS: Final = ("name", "url", "username", "password", "password_file", "verify", "ca_file")
_DAY: Final = 86_400
_BOUNDS: Final = {
    "pull_seconds": (1, _DAY),
    "reconcile_seconds": (1, _DAY),
    "overlap_seconds": (0, _DAY),
    "deep_overlap_seconds": (0, _DAY),
    "page_size": (1, 4000),
    "most_pages": (1, 1_000_000),
    "keep_days": (0, 36_500),
    "port": (0, 65_535),
    "proxies": (0, 10),
}


@dataclass(frozen=True, kw_only=True)
class ServerSettings:
    """One AdGuard Home: its address and its login."""

    name: str
    url: str
    username: str = ""
    password: str = field(default="", repr=False)
    password_file: str = ""  # read at each use, so a corrected file needs no restart
    verify: bool = True  # check the certificate
    ca_file: str = ""  # a certificate authority of one's own

    def with_current_password(self) -> "ServerSettings":
        """Return these settings with the present text of the password file, if there is one."""
        if not self.password_file:
            return self
        try:
            text = Path(self.password_file).read_text(encoding="utf-8").rstrip("\r\n")
        except (OSError, ValueError) as error:  # also bytes that are no text, and a NUL in a name
            raise BadSetting(
                f'the password file of server "{self.name}" cannot be read: {error}'
            ) from None
        if not text:
            raise BadSetting(f'the password file of server "{self.name}" is empty')
        return replace(self, password=text)


@dataclass(frozen=True, kw_only=True)
class Settings:
    """The settings; `pull_seconds` is set by DNSLOG_PULL_SECONDS, and so on."""

    folder: Path
    database: str = field(repr=False)  # sqlite:///… or postgresql://…, which has a password
    servers: tuple[ServerSettings, ...] = ()
    pull_seconds: float = 10.0
    overlap_seconds: float = 2.0
    deep_overlap_seconds: float = 60.0  # slow queries are logged late, with an older time
    page_size: int = 500
    most_pages: int = 5000  # of one pull
    reconcile_seconds: float = 180.0  # the interval at which rules are compared with the server
    keep_days: int = 0  # of rows; 0: for ever
    keep_bytes: int = 0  # of the database; 0: no limit
    timezone: str = "UTC"  # of new rules and of the page; `load_settings` takes the machine's
    host: str = "127.0.0.1"
    port: int = 8430
    hosts: tuple[str, ...] = ()  # further host names of the page
    proxies: int = 0  # reverse proxies before the pages, whose X-Forwarded-For is trusted
    visitors: bool = False  # reading without a login
    admin_password_file: str = ""  # of the account `admin`, which the first start creates
    console_url: str = ""  # the Fairlane console, if another process serves it

    def __post_init__(self) -> None:
        for name, (low, high) in _BOUNDS.items():
            value = getattr(self, name)
            if not low <= value <= high:
                raise BadSetting(f"{name} is {value}; it must be {low} to {high}")
        if self.timezone not in available_timezones():
            raise BadSetting(
                f'timezone is "{self.timezone}"; it must be a name such as "Europe/Berlin"'
            )
        names = [server.name for server in self.servers]
        if len(set(names)) < len(names):
            raise BadSetting(f"two servers have one name: {', '.join(names)}; rename one")

    @property
    def zone(self) -> ZoneInfo:
        return ZoneInfo(self.timezone)

    @property
    def queue_database(self) -> str:
        """The database of Fairlane: the same PostgreSQL, or a file beside the log."""
        if self.database.startswith("sqlite:///"):
            log = Path(self.database.removeprefix("sqlite:///"))
            return f"sqlite:///{log.with_name(QUEUE_FILE)}"
        return self.database

    def server(self, name: str) -> ServerSettings:
        """Return the settings of one server."""
        for server in self.servers:
            if server.name == name:
                return server
        known = ", ".join(server.name for server in self.servers) or "none"
        raise BadSetting(f'server "{name}" is not in the settings (known: {known})')


def load_settings(*, environment: Mapping[str, str] | None = None, **flags: Any) -> Settings:
    """Read the settings; a flag that is None was not given."""
    known = os.environ if environment is None else environment
    values: dict[str, Any] = {}
    folder = Path(flags.get("folder") or known.get(f"{PREFIX}FOLDER") or _default_folder(known))
    values.update(_from_file(folder, known))
    servers = values.pop("servers", [])
    for setting in fields(Settings):
        text = known.get(PREFIX + setting.name.upper())
        if text and setting.name != "servers":
            values[setting.name] = text
    values.update({name: value for name, value in flags.items() if value is not None})
    values["folder"] = folder
    values.setdefault("database", f"sqlite:///{folder / DATABASE_FILE}")
    values.setdefault("timezone", find_machine_timezone(known))
    values["servers"] = tuple(_server(entry, known) for entry in _all_servers(servers, known))
    return Settings(**{name: _typed(name, value) for name, value in values.items()})


def require_log(settings: Settings, *, environment: Mapping[str, str] | None = None) -> None:
    """Raise if neither the settings file nor the SQLite file of a log exists.

    A command that creates a log in a mistyped folder would show an empty one.
    """
    if not settings.database.startswith("sqlite:///"):
        return
    known = os.environ if environment is None else environment
    log = Path(settings.database.removeprefix("sqlite:///")).absolute()
    path = _settings_path(settings.folder, known).absolute()
    if not log.exists() and not (path.exists() and log.parent.is_dir()):
        raise BadSetting(
            f"there is no log: neither {path} nor {log} exists; name its folder with --folder or "
            "DNSLOG_FOLDER, or begin a log there with `fairlane-dnslog serve`"
        )


def _settings_path(folder: Path, environment: Mapping[str, str]) -> Path:
    named = environment.get(f"{PREFIX}SETTINGS")
    return Path(named) if named else folder / SETTINGS_FILE


def _default_folder(environment: Mapping[str, str]) -> Path:
    """Return the folder for data of a user's programs, by the rules of freedesktop.org."""
    data = environment.get("XDG_DATA_HOME", "")
    base = Path(data) if Path(data).is_absolute() else Path.home() / ".local" / "share"
    return base / "fairlane-dnslog"


def _from_file(folder: Path, environment: Mapping[str, str]) -> dict[str, Any]:
    named = environment.get(f"{PREFIX}SETTINGS")
    path = _settings_path(folder, environment)
    try:
        with path.open("rb") as file:
            values = tomllib.load(file)
    except FileNotFoundError:
        if named:
            raise BadSetting(f"{path} does not exist; DNSLOG_SETTINGS names it") from None
        return {}
    except (OSError, ValueError) as error:  # also a number of thousands of digits
        raise BadSetting(f"{path} cannot be read as TOML: {error}") from None
    known = {setting.name for setting in fields(Settings)} - {"folder"}
    unknown = sorted(set(values) - known)
    if unknown:
        raise BadSetting(
            f"{path} has unknown settings: {', '.join(unknown)} (known: {', '.join(sorted(known))})"
        )
    _resolve_paths(values, path.parent)
    return values


def _resolve_paths(values: dict[str, Any], folder: Path) -> None:
    """Make the paths of a settings file relative to its folder: a service starts in another."""
    servers = values.get("servers")
    tables = [values, *(servers if isinstance(servers, list) else ())]
    for table in tables:
        for key in ("password_file", "ca_file", "admin_password_file"):
            if isinstance(table, dict) and isinstance(table.get(key), str) and table[key]:
                table[key] = str(folder.absolute() / _expanded(key, table[key]))
    database = values.get("database")
    if isinstance(database, str) and database.startswith("sqlite:///"):
        path = _expanded("database", database.removeprefix("sqlite:///"))
        values["database"] = f"sqlite:///{folder.absolute() / path}"


def _expanded(key: str, path: str) -> Path:
    try:
        return Path(path).expanduser()
    except RuntimeError as error:  # no home folder of this user
        raise BadSetting(f'{key} is "{path}": {error}') from None


def _all_servers(entries: Any, environment: Mapping[str, str]) -> list[Mapping[str, Any]]:
    """Return the servers of the file, and the one of the environment (DNSLOG_URL)."""
    tables = isinstance(entries, list) and all(isinstance(entry, dict) for entry in entries)
    if not tables or len(entries) > MOST_SERVERS:
        raise BadSetting(f"servers must be at most {MOST_SERVERS} tables: [[servers]] in the file")
    url = environment.get(f"{PREFIX}URL")
    if not url:
        return list(entries)
    single = {"name": HOME, "url": url, "username": environment.get(f"{PREFIX}USERNAME", "")}
    return [entry for entry in entries if entry.get("name") != HOME] + [single]


def _server(entry: Mapping[str, Any], environment: Mapping[str, str]) -> ServerSettings:
    unknown = sorted(set(entry) - set(_SERVER_KEYS))
    if unknown:
        raise BadSetting(
            f"a server has unknown settings: {', '.join(unknown)} "
            f"(known: {', '.join(_SERVER_KEYS)})"
        )
    for key in _SERVER_KEYS:
        if key != "verify" and not isinstance(entry.get(key, ""), str):
            raise BadSetting(f"{key} of a server is {entry[key]!r}; it must be a text")
    name = entry.get("name", "")
    if not _NAME.fullmatch(name):
        raise BadSetting(
            f'the name of a server is "{name[:60]}"; it must be 1 to 40 of a-z, 0-9, "-" and "_"'
        )
    password, password_file = _login(name, entry, environment)
    server = ServerSettings(
        name=name,
        url=_address(name, entry.get("url", "")),
        username=entry.get("username", ""),
        password=password,
        password_file=password_file,
        verify=_typed("verify", entry.get("verify", True)),
        ca_file=entry.get("ca_file", ""),
    )
    server.with_current_password()  # a file that cannot be read is reported at the start
    if server.ca_file and not Path(server.ca_file).is_file():
        raise BadSetting(f'the ca_file of server "{name}" is no file: {server.ca_file}')
    return server


def _address(name: str, url: str) -> str:
    try:
        parts = urlsplit(url)
        right = parts.scheme in ("http", "https") and parts.hostname and parts.port != 0
        (parts.hostname or "").encode("idna")  # a label of more than 63 letters is no host
        right = right and url.isprintable() and " " not in url
    except ValueError:
        right = False
    if not right:
        raise BadSetting(
            f'the url of server "{name}" is not an address such as http://192.168.1.2:3000'
        )
    if parts.username or parts.password or parts.query or parts.fragment:
        raise BadSetting(
            f'the url of server "{name}" contains a login or a query; give the login as '
            "`username` and `password_file`"
        )
    plain = f"{parts.scheme}://{parts.netloc}{parts.path}"  # HTTPS: is https:
    return plain.rstrip("/").removesuffix("/control")


def _login(name: str, entry: Mapping[str, Any], environment: Mapping[str, str]) -> tuple[str, str]:
    """Return the password of the environment or of the settings file, or a password file."""
    variable = f"{PREFIX}PASSWORD_{name.upper().replace('-', '_')}"
    file_variable = f"{PREFIX}PASSWORD_FILE"
    own = {variable: environment.get(variable)} if variable != file_variable else {}
    # A server must not get the password of another one.
    shared = {f"{PREFIX}PASSWORD": environment.get(f"{PREFIX}PASSWORD")} if name == HOME else {}
    for password in (own | shared).values():
        if password:
            return password, ""
    file = entry.get("password_file") or (environment.get(file_variable) if name == HOME else "")
    if not file:
        return entry.get("password", ""), ""
    return "", str(_expanded("password_file", file).absolute())


def _typed(name: str, value: Any) -> Any:
    """Convert a value of the file, the environment or a flag to the type of its setting."""
    if name in ("servers", "folder"):
        return value
    if name == "hosts":
        return _names(name, value)
    if name in ("visitors", "verify"):
        return _boolean(name, value)
    if name.endswith("_seconds"):
        return _number(name, value, float)
    if name in ("page_size", "most_pages", "keep_days", "keep_bytes", "port", "proxies"):
        return _number(name, value, int)
    if not isinstance(value, str):
        raise BadSetting(f"{name} is {value!r}; it must be a text")
    return value


def _names(name: str, value: Any) -> tuple[str, ...]:
    parts = value.split(",") if isinstance(value, str) else value
    if not isinstance(parts, list | tuple) or not all(isinstance(part, str) for part in parts):
        raise BadSetting(f"{name} is {value!r}; it must be a list of texts")
    return tuple(part.strip() for part in parts if part.strip())


def _boolean(name: str, value: Any) -> bool:
    words = {"1": True, "true": True, "yes": True, "0": False, "false": False, "no": False}
    known = words.get(str(value).lower())
    if known is None:
        raise BadSetting(f"{name} is {value!r}; it must be true or false")
    return known


def _number(name: str, value: Any, kind: type[float] | type[int]) -> float | int:
    is_wrong = isinstance(value, bool) or (kind is int and isinstance(value, float))
    try:
        number = -1 if is_wrong else kind(value)
    except (TypeError, ValueError, OverflowError):
        number = -1
    if not 0 <= number < 1 << 53:  # nor NaN
        expected = "a whole number" if kind is int else "a number"
        raise BadSetting(f"{name} is {value!r}; it must be {expected}, 0 or more")
    return number
