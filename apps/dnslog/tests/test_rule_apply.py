"""Rules on a server: the stand-in for AdGuard Home, over HTTP."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, closing, contextmanager
from datetime import datetime
from pathlib import Path

import pytest

from apps.dnslog.tests.rule_examples import custom, draft, protection
from fairlane_dnslog.adguard import AdGuard
from fairlane_dnslog.adguard_answers import FilteringAnswer, Service, StatusAnswer
from fairlane_dnslog.adguard_errors import ServerUnavailable
from fairlane_dnslog.database import Database, Transaction, open_database
from fairlane_dnslog.rules.applied import AppliedRow, read_applied
from fairlane_dnslog.rules.apply import Changes, FilteringServer, reconcile
from fairlane_dnslog.rules.audit import AuditRow, read_audit
from fairlane_dnslog.rules.block import BEGIN, END, filter_lines, find_lines
from fairlane_dnslog.rules.desired import next_boundary
from fairlane_dnslog.rules.errors import BlockNotKept
from fairlane_dnslog.rules.rule import Kind, RuleDraft
from fairlane_dnslog.rules.rule_store import delete_rule, load_rules, save_rule
from fairlane_dnslog.rules.window import Window, once
from fairlane_dnslog.stand_in import Fault, StandIn, stand_in

NOW = 1_800_000_000.0
TABLET = "192.168.178.30"


class Home:
    """A household: a server with the time of a test, its client, and a database."""

    def __init__(self, database: Database) -> None:
        self.database = database
        self.at = NOW
        self.adguard: FilteringServer
        self.server: StandIn

    def now(self) -> float:
        return self.at

    def save(self, rule: RuleDraft) -> int:
        return save_rule(self.database, rule, actor="ann", now=self.at).id

    def delete_rules(self) -> None:
        with self.database.reading() as tx:
            rules = load_rules(tx).rules
        for rule in rules:
            delete_rule(self.database, rule.id, revision=rule.revision, actor="ann", now=self.at)

    def run(self) -> Changes:
        return reconcile(self.adguard, self.database, name="home", now=self.now)

    @property
    def lines(self) -> list[str]:
        return list(self.server.state.user_rules)

    def is_protected(self) -> bool:
        return self.server.state.protection.is_on(self.server.state.now_ns())

    def pause_by_hand(self, seconds: float = 0.0) -> None:
        self.server.state.set_protection(enabled=False, duration_ms=int(seconds * 1000))

    def verdict(self, domain: str, client: str = TABLET) -> str:
        return self.server.state.check(domain, client, self.server.state.now_ns()).reason

    def applied(self) -> AppliedRow:
        with self.database.reading() as tx:
            return read_applied(tx, "home")

    def audited(self, actor: str = "timed rules") -> list[AuditRow]:
        with self.database.reading() as tx:
            return [row for row in read_audit(tx) if row.actor == actor]


@pytest.fixture
def home(tmp_path: Path) -> Iterator[Home]:
    with make_home(tmp_path / "dnslog.db") as made:
        yield made


@contextmanager
def make_home(path: Path) -> Iterator[Home]:
    with closing(open_database(f"sqlite:///{path}")) as database:
        database.migrate()
        made = Home(database)
        with stand_in(now_ns=lambda: int(made.at * 1e9)) as server:
            made.server = server
            with AdGuard(server.settings()) as adguard:
                made.adguard = adguard
                yield made


def test_the_clock_brings_lines_and_removes_them(home: Home) -> None:
    home.server.state.set_rules(["||mine.example^", ""])
    home.save(draft("Homework", window=once(from_at=NOW + 10, seconds=60)))
    assert home.run().added == ()
    assert home.verdict("www.youtube.com") == "NotFilteredNotFound"

    home.at += 10
    changes = home.run()
    assert "||youtube.com^" in changes.added
    assert home.lines[:3] == ["||mine.example^", "", BEGIN]
    assert home.lines[-1] == END
    assert home.verdict("www.youtube.com") == "FilteredBlackList"

    home.at += 60
    assert "||youtube.com^" in home.run().removed
    assert home.lines == ["||mine.example^", ""]


def test_a_rule_for_a_client_concerns_only_that_client(home: Home) -> None:
    home.save(draft(services=("chatgpt",), clients=(TABLET,)))
    home.run()
    assert home.verdict("api.openai.com") == "FilteredBlackList"
    assert home.verdict("api.openai.com", "192.168.178.99") == "NotFilteredNotFound"


def test_an_allowed_service_wins_over_blocked_ones(home: Home) -> None:
    home.server.state.set_services(["youtube"])
    home.save(draft("Film", kind=Kind.ALLOW_SERVICES))
    home.save(draft("Homework"))
    home.run()
    assert home.verdict("www.youtube.com") == "NotFilteredWhiteList"


def test_a_second_run_changes_nothing(home: Home) -> None:
    home.save(draft())
    home.save(protection("Pause", on=False, window=once(from_at=NOW, seconds=600)))
    assert not home.run().is_empty
    written, audited = home.lines, home.audited()
    home.at += 100
    assert home.run().is_empty
    assert home.lines == written
    assert home.audited() == audited


def test_the_result_is_recorded_and_audited(home: Home) -> None:
    home.save(custom("Night", "||games.example^"))
    home.save(draft("Old", services=("myspace",)))
    changes = home.run()
    applied = home.applied()
    assert (applied.version, applied.applied_at, applied.error) == (2, NOW, "")
    assert list(applied.block) == home.lines
    assert "myspace" in applied.problems[0]
    (row,) = home.audited()
    assert row.detail["lines_added"] == list(changes.added) == ["||games.example^"]


def test_lines_of_the_administrator_survive_any_damage_to_the_block(home: Home) -> None:
    home.save(custom("Night", "||a.example^", "||b.example^"))
    home.run()
    block = home.lines
    for damaged in (
        ["||mine.example^", *block[:-1], "||own.example^"],  # without its end
        ["||mine.example^", *block[1:], "||own.example^"],  # without its begin
        ["||mine.example^", *block, "||own.example^", *block],  # twice
        ["||mine.example^", *block[:2], "||own.example^", *block[2:]],  # a line inside
        ["||mine.example^", "||own.example^"],
    ):
        home.server.state.set_rules(damaged)
        assert home.run().is_repaired
        assert [line for line in home.lines if line not in block] == [
            "||mine.example^",
            "||own.example^",
        ]
        assert list(find_lines(home.lines).ours) == block


# protection


def test_protection_is_paused_until_the_end_of_the_rule_and_returns_by_itself(home: Home) -> None:
    home.save(protection("Pause", on=False, window=once(from_at=NOW, seconds=1800)))
    assert home.run().protection.startswith("off until")
    assert not home.is_protected()
    home.at += 1799
    home.run()
    assert not home.is_protected()
    home.at += 1
    assert home.is_protected()  # without us
    assert home.run().is_empty
    assert home.applied().protection_until is None


def test_a_deleted_pause_ends_at_once(home: Home) -> None:
    home.save(protection("Pause", on=False, window=once(from_at=NOW, seconds=1800)))
    home.run()
    home.delete_rules()
    assert home.run().protection == "on"
    assert home.is_protected()


def test_a_pause_by_hand_is_left_alone(home: Home) -> None:
    home.pause_by_hand()
    assert home.run().is_empty
    assert not home.is_protected()
    home.save(protection("Pause", on=False, window=once(from_at=NOW, seconds=60)))
    home.run()
    home.at += 60
    home.run()
    assert not home.is_protected()


def test_a_shorter_pause_by_hand_is_prolonged(home: Home) -> None:
    home.pause_by_hand(seconds=60)
    home.save(protection("Pause", on=False, window=once(from_at=NOW, seconds=600)))
    home.run()
    home.at += 599
    assert not home.is_protected()


def test_a_rule_that_demands_protection_ends_a_pause_by_hand(home: Home) -> None:
    home.pause_by_hand()
    home.save(protection("School", on=True))
    assert home.run().protection == "on"
    assert home.is_protected()


def test_a_pause_without_end_is_requested_in_pieces_of_a_day(home: Home) -> None:
    home.save(protection("Pause", on=False, window=Window()))
    for _ in range(20):
        home.run()
        assert not home.is_protected()
        home.at += 4 * 3600
    home.at += 24 * 3600  # this program was gone for a day
    assert home.is_protected()


def test_a_pause_that_was_shortened_ends_sooner(home: Home) -> None:
    home.save(protection("Pause", on=False, window=once(from_at=NOW, seconds=3600)))
    home.run()
    home.delete_rules()
    home.save(protection("Pause", on=False, window=once(from_at=NOW, seconds=60)))
    home.run()
    home.at += 61
    assert home.is_protected()


# errors


def test_an_error_of_the_server_is_recorded_and_the_next_run_clears_it(home: Home) -> None:
    home.save(draft())
    home.server.set_faults(Fault(kind="status", status=503, path="/control/filtering"))
    with pytest.raises(ServerUnavailable):
        home.run()
    assert "503" in home.applied().error
    home.server.set_faults()
    home.run()
    assert home.applied().error == ""


def test_a_failed_list_of_services_leaves_the_block_as_it_is(home: Home) -> None:
    home.save(draft())
    home.run()
    written = home.lines
    home.server.set_faults(Fault(kind="status", path="/control/blocked_services"))
    with pytest.raises(ServerUnavailable):
        home.run()
    assert home.lines == written


class EditedServer:
    """A client whose server is edited by hand after each of our writes."""

    def __init__(self, home: Home, edits: Sequence[Callable[[list[str]], list[str]]]) -> None:
        self._inner = home.adguard
        self._home = home
        self._edits = list(edits)

    def read_filtering(self) -> FilteringAnswer:
        return self._inner.read_filtering()

    def write_rules(self, rules: Sequence[str]) -> None:
        self._inner.write_rules(rules)
        if self._edits:
            self._home.server.state.set_rules(self._edits.pop(0)(self._home.lines))

    def read_status(self) -> StatusAnswer:
        return self._inner.read_status()

    def set_protection(self, *, enabled: bool, duration_ms: int = 0) -> None:
        self._inner.set_protection(enabled=enabled, duration_ms=duration_ms)

    def read_services(self) -> list[Service]:
        return self._inner.read_services()


def test_an_edit_by_hand_at_the_same_moment_is_merged(home: Home) -> None:
    home.server.state.set_rules(["||mine.example^"])
    home.save(custom("Night", "||a.example^"))
    # The page of the administrator was opened before our write, and saved after it.
    home.adguard = EditedServer(home, [lambda _: ["||mine.example^", "||new.example^"]])
    home.run()
    assert filter_lines(home.lines) == ("||mine.example^", "||new.example^", "||a.example^")


def test_a_server_that_loses_every_write_is_an_error(home: Home) -> None:
    home.save(custom("Night", "||a.example^"))
    home.adguard = EditedServer(home, [lambda _: []] * 10)
    with pytest.raises(BlockNotKept):
        home.run()
    assert "did not store" in home.applied().error


# crashes


class Killed(BaseException):
    """The end of the process, at a call of the test's choice."""


class Fuse:
    def __init__(self, calls: int) -> None:
        self.left = calls

    def burn(self) -> None:
        self.left -= 1
        if self.left == 0:
            raise Killed


class CrashingServer(EditedServer):
    """A client that dies before or after a request."""

    def __init__(self, home: Home, fuse: Fuse) -> None:
        super().__init__(home, [])
        self._fuse = fuse

    def write_rules(self, rules: Sequence[str]) -> None:
        self._fuse.burn()
        super().write_rules(rules)
        self._fuse.burn()

    def set_protection(self, *, enabled: bool, duration_ms: int = 0) -> None:
        self._fuse.burn()
        super().set_protection(enabled=enabled, duration_ms=duration_ms)
        self._fuse.burn()


class CrashingDatabase(Database):
    """A database whose process dies before or after a commit."""

    dialect = "sqlite"

    def __init__(self, inner: Database, fuse: Fuse) -> None:
        self._inner = inner
        self._fuse = fuse

    @contextmanager
    def transaction(self) -> Iterator[Transaction]:
        with self._inner.transaction() as tx:
            yield tx
            self._fuse.burn()
        self._fuse.burn()

    def reading(self) -> AbstractContextManager[Transaction]:
        return self._inner.reading()

    def migrate(self) -> None:
        self._inner.migrate()

    def close(self) -> None:
        self._inner.close()


@pytest.mark.parametrize("scenario", ["begins", "ends"])
def test_a_run_that_is_killed_at_any_step_is_completed_by_the_next(
    tmp_path: Path, scenario: str
) -> None:
    for calls in range(1, 30):
        with make_home(tmp_path / f"{calls}.db") as home:
            home.server.state.set_rules(["||mine.example^"])
            home.save(custom("Night", "||a.example^"))
            home.save(protection("Pause", on=False, window=once(from_at=NOW, seconds=3600)))
            if scenario == "ends":
                home.run()
                home.delete_rules()
            fuse = Fuse(calls)
            try:
                reconcile(
                    CrashingServer(home, fuse),
                    CrashingDatabase(home.database, fuse),
                    name="home",
                    now=home.now,
                )
            except Killed:
                pass
            home.run()
            _check_end(home, scenario)
        if fuse.left > 0:
            assert calls > 5
            return
    raise AssertionError("the run did not end")


def _check_end(home: Home, scenario: str) -> None:
    last = home.audited()[0]
    if scenario == "begins":
        assert home.lines[0] == "||mine.example^"
        assert filter_lines(home.lines) == ("||mine.example^", "||a.example^")
        assert not home.is_protected()
        assert last.detail["lines_added"] == ["||a.example^"]
        assert "protection paused" in [row.action for row in home.audited()]
        home.delete_rules()
        home.run()
    assert home.lines == ["||mine.example^"]
    assert home.is_protected()
    assert home.audited()[0].detail["lines_removed"] == ["||a.example^"]
    assert "on" in [row.detail.get("protection") for row in home.audited()]


@pytest.mark.parametrize(
    ("begins", "ends"),
    [
        pytest.param("2027-03-28T00:30Z", "2027-03-28T01:30Z", id="an hour is skipped"),
        pytest.param("2026-10-24T23:30Z", "2026-10-25T02:30Z", id="an hour is repeated"),
    ],
)
def test_on_the_days_of_a_clock_change_rules_follow_the_local_clock(
    home: Home, begins: str, ends: str
) -> None:
    window = Window(start="01:30", end="03:30", timezone="Europe/Berlin")
    home.save(draft(window=window))
    home.save(protection("Party", on=False, window=window))
    begin, end = (datetime.fromisoformat(text).timestamp() for text in (begins, ends))
    with home.database.reading() as tx:
        rules = load_rules(tx).rules

    assert next_boundary(rules, after=begin - 3600) == begin
    assert next_boundary(rules, after=begin) == end
    for at, in_force in ((begin - 1, False), (begin, True), (end - 1, True), (end, False)):
        home.at = at
        home.run()
        assert ("||youtube.com^" in home.lines) is in_force
        assert home.is_protected() is not in_force
        assert home.applied().protection_until == (end if in_force else None)
