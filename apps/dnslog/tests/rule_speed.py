"""`python -m apps.dnslog.tests.rule_speed`: rules saved through four gunicorn workers.

A rule is saved by a person with a login over HTTP, in whichever worker accepts the connection. It
is in force when all four workers have loaded it and the server has its line. The command prints the
median and the longest time of 50 saves. It also saves one rule twenty times at once, writes one by
plain SQL, and lets a boundary pass while no worker runs.
"""

import argparse
import re
import statistics
import tempfile
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from dataclasses import dataclass, field
from datetime import UTC, datetime
from itertools import count
from pathlib import Path
from typing import Any, Final

import httpx

from apps.dnslog.tests.gunicorn_program import (
    WORKERS,
    Household,
    Kind,
    Workers,
    eventually,
    server_of,
)
from fairlane_dnslog.adguard import AdGuard
from fairlane_dnslog.database import Database, DatabaseError, open_database
from fairlane_dnslog.rules.applied import read_applied
from fairlane_dnslog.rules.process_rows import read_processes
from fairlane_dnslog.rules.rule_store import load_rules, read_version
from fairlane_dnslog.settings import ServerSettings
from fairlane_dnslog.stand_in import Options

PASSWORD: Final = "a password for a test"  # noqa: S105 - of a database that is deleted again
SERVER: Final = "home"
SAVES: Final = 50
AT_ONCE: Final = 20
_FIELD: Final = re.compile(r'name="(csrf|revision)" value="([^"]*)"')
_INSERT: Final = "INSERT INTO rule (name, kind, detail) VALUES ('By SQL', 'custom_rules', :detail)"


@dataclass
class Verdict:
    seconds: list[float] = field(default_factory=list)  # of each save
    conflicts: int = 0  # saves that another one overtook, and that were repeated


class Person:
    """A browser with a login; each request opens a connection, so any worker may accept it."""

    def __init__(self, port: int) -> None:
        self._base = f"http://127.0.0.1:{port}"
        self._cookies = httpx.Cookies()

    def log_in(self) -> None:
        self._post("/login", self.fields("/login"), name="admin", password=PASSWORD)

    def fields(self, path: str) -> dict[str, str]:
        """Return the hidden fields of a form."""
        answer = self._request("GET", path)
        answer.raise_for_status()
        return dict(_FIELD.findall(answer.text))

    def save_rule(self, line: str, *, path: str = "/rules/new", **more: Any) -> int:
        """Send the form of a rule until it is saved; return how often another one was faster."""
        hidden = self.fields(path)
        for conflicts in count():
            answer = self._post(
                path, hidden, name=f"Rule {line}", enabled="on", kind="custom_rules", lines=line,
                timezone="UTC", **{"times": "always", **more},
            )  # fmt: skip
            if answer.status_code == 303:
                return conflicts
            hidden = dict(_FIELD.findall(answer.text))  # the form that shows the other change
        raise AssertionError

    def _post(self, path: str, hidden: dict[str, str], **data: Any) -> httpx.Response:
        answer = self._request("POST", path, data=hidden | data)
        if answer.status_code not in (303, 409):
            raise RuntimeError(f"{path} answered {answer.status_code}: {answer.text[:2000]}")
        return answer

    def _request(self, method: str, path: str, **rest: Any) -> httpx.Response:
        with httpx.Client(base_url=self._base, cookies=self._cookies, timeout=60) as client:
            answer = client.request(method, path, **rest)
            self._cookies = client.cookies
        return answer

    def twin(self) -> "Person":
        """Return the same login in another browser."""
        other = Person(0)
        other._base, other._cookies = self._base, httpx.Cookies(self._cookies)
        return other


class Site:
    """The workers, their database and the server that they control."""

    def __init__(self, workers: Workers, database: Database, server: AdGuard) -> None:
        self.workers = workers
        self.database = database
        self.server = server
        self.person = Person(workers.port)

    def wait_for_workers(self) -> None:
        eventually(lambda: len(self._versions()) == WORKERS, "all workers have loaded the rules")

    def lines(self) -> set[str]:
        found = self.server.read_filtering().user_rules or []
        return {line for line in found if not line.startswith("!")}

    def is_in_force(self, line: str, *, present: bool = True) -> bool:
        """Return whether all workers have the newest rules, and the server has them too."""
        with self.database.reading() as tx:
            newest = read_version(tx)
            applied = read_applied(tx, SERVER).version
        if applied != newest or set(self._versions()) != {newest}:
            return False
        return len(self._versions()) == WORKERS and (line in self.lines()) is present

    def wait_until_in_force(self, line: str) -> None:
        eventually(lambda: self.is_in_force(line), f"{line} is in force", pause_seconds=0.005)

    def _versions(self) -> list[int]:
        try:
            with self.database.reading() as tx:
                return [row.version for row in read_processes(tx)]
        except DatabaseError:
            return []  # the tables are not created yet


def run(
    kind: Kind, *, saves: int = SAVES, at_once: int = AT_ONCE,
    report: Callable[[str], None] = lambda _: None,
) -> Verdict:  # fmt: skip
    """Save rules in all ways and wait for each; return the times."""
    with tempfile.TemporaryDirectory(prefix="dnslog-rules-") as name, server_of(kind) as server:
        folder = Path(name)
        address = f"sqlite:///{folder}/dnslog.db" if server is None else server.new_database()
        password_file = folder / "password"
        password_file.write_text(PASSWORD)
        household = Household(folder, rate=5.0)
        household.start()
        workers = Workers(folder, address, household, admin_password_file=password_file)
        workers.start()
        settings = ServerSettings(
            name=SERVER,
            url=f"http://127.0.0.1:{household.port}",
            username="admin",
            password=Options().password,
        )
        try:
            with closing(open_database(address)) as database, AdGuard(settings) as adguard:
                return _save_rules(Site(workers, database, adguard), saves, at_once, report)
        except BaseException:
            report((folder / "output.log").read_text()[-4000:])
            raise
        finally:
            workers.stop()
            household.stop()


def _save_rules(site: Site, saves: int, at_once: int, report: Callable[[str], None]) -> Verdict:
    verdict = Verdict()
    site.wait_for_workers()
    site.person.log_in()
    for number in range(saves):
        line = f"||saved-{number}.example^"
        began = time.monotonic()
        site.person.save_rule(line)
        site.wait_until_in_force(line)
        verdict.seconds.append(time.monotonic() - began)
    report(f"{saves} saves are in force")
    verdict.conflicts = save_at_once(site, at_once)
    report(f"{at_once} saves at once have ended in one state; conflicts: {verdict.conflicts}")
    with site.database.transaction() as tx:
        tx.run(_INSERT, detail='{"lines": ["||by-sql.example^"]}')
    site.wait_until_in_force("||by-sql.example^")
    report("a rule of plain SQL is in force")
    pass_boundary_without_workers(site)
    report("a boundary that passed while no worker ran was applied at the next start")
    return verdict


def save_at_once(site: Site, at_once: int) -> int:
    """Save one rule by several people at once; the last one's line is the only one in the end."""
    with site.database.reading() as tx:
        rule = load_rules(tx).rules[0]
    before = site.lines() - set(rule.detail.lines)
    lines = [f"||at-once-{number}.example^" for number in range(at_once)]

    def save(line: str) -> int:
        return site.person.twin().save_rule(line, path=f"/rules/{rule.id}")

    with ThreadPoolExecutor(at_once) as people:
        conflicts = sum(people.map(save, lines))
    with site.database.reading() as tx:
        [last] = next(one for one in load_rules(tx).rules if one.id == rule.id).detail.lines
    site.wait_until_in_force(last)
    assert last in lines
    assert site.lines() == before | {last}
    return conflicts


def pass_boundary_without_workers(site: Site) -> None:
    begins = int(time.time()) + 3
    line = "||boundary.example^"
    site.person.save_rule(
        line, times="once", from_at=_text(begins), until_at=_text(begins + 86_400)
    )
    eventually(lambda: site.is_in_force(line, present=False), "the rule is known, not in force")
    site.workers.kill()
    eventually(lambda: time.time() > begins, "the boundary passes")
    assert line not in site.lines()
    site.workers.start()
    site.wait_until_in_force(line)


def _text(at: float) -> str:
    return datetime.fromtimestamp(at, UTC).strftime("%Y-%m-%dT%H:%M:%S")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--database", choices=["postgres", "sqlite"], default="postgres")
    parser.add_argument("--saves", type=int, default=SAVES)
    given = parser.parse_args()
    verdict = run(given.database, saves=given.saves, report=lambda text: print(text, flush=True))  # noqa: T201
    median, worst = statistics.median(verdict.seconds), max(verdict.seconds)
    print(  # noqa: T201
        f"{len(verdict.seconds)} saves on {given.database}, until the rule is in force in all "
        f"workers and on the server: median {median * 1000:.0f} ms, worst {worst * 1000:.0f} ms"
    )


if __name__ == "__main__":
    main()
