"""The program of one process: refused logins, a database that is away, boundaries, accounts."""

import os
import stat
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from apps.dnslog.tests.adguard_servers import make_settings
from apps.dnslog.tests.rule_examples import custom
from fairlane import BadSetting
from fairlane_dnslog import create_app
from fairlane_dnslog.database import DatabaseUnavailable
from fairlane_dnslog.first_account import create_first_account
from fairlane_dnslog.program import Program
from fairlane_dnslog.rules.process_rows import process_name, read_processes
from fairlane_dnslog.rules.window import Window
from fairlane_dnslog.settings import Settings
from fairlane_dnslog.stand_in import StandIn, stand_in
from fairlane_dnslog.status import ServerStatus, read_status
from fairlane_dnslog.web.accounts import find_account, is_right_password
from fairlane_dnslog.web.application import create_web
from tests.support.eventually import eventually_sync

SLOW_SECONDS = 60.0  # ends a broken test
RARELY = {"pull_seconds": 3600.0, "reconcile_seconds": 3600.0}


@pytest.fixture
def server() -> Iterator[StandIn]:
    with stand_in() as running:
        yield running


@contextmanager
def started(settings: Settings) -> Iterator[Program]:
    program = Program(settings)
    program.start()
    try:
        yield program
    finally:
        program.stop()


def state_of(program: Program) -> ServerStatus:
    [found] = read_status(program.database, program.settings, now=time.time()).servers
    return found


def failed_jobs(program: Program) -> int:
    return len(program.app.sync.jobs.history(states=["failed"], limit=50).items)


def wait(probe: Any) -> None:
    eventually_sync(lambda: bool(probe()), within_seconds=SLOW_SECONDS)


def test_a_refused_login_is_one_request_until_the_server_is_resumed(
    tmp_path: Path, server: StandIn
) -> None:
    wrong = server.settings(password="wrong")  # noqa: S106
    with started(make_settings(tmp_path, servers=(wrong,), **RARELY)) as program:
        # The reconciliation of the start and a pull are two jobs; each sends one request.
        program.pull_now("home", actor="ann")
        wait(lambda: failed_jobs(program) == 2)
        assert 1 <= server.requests <= 2
        sent = server.requests

        for _ in range(3):
            program.pull_now("home", actor="ann")
        program.save_rule(custom("Night", "||a.example^"), actor="ann")
        wait(lambda: failed_jobs(program) == 6)

        assert server.requests == sent
        assert 'the login of user "admin" was refused (401)' in state_of(program).reason
        program.resume_server("home", actor="ann")
        wait(lambda: server.requests == sent + 1 and failed_jobs(program) == 7)
        assert state_of(program).state == "paused"


def test_a_corrected_password_file_is_read_when_the_server_is_resumed(
    tmp_path: Path, server: StandIn
) -> None:
    path = tmp_path / "password"
    path.write_text("wrong\n")
    login = server.settings(password="", password_file=str(path))
    right = server.settings().password
    with started(make_settings(tmp_path, servers=(login,), **RARELY)) as program:
        program.pull_now("home", actor="ann")
        wait(lambda: failed_jobs(program) == 2)
        assert state_of(program).state == "paused"
        health = create_web(program).test_client().get("/healthz", base_url="http://localhost")
        paused = {"ok": False, "ready": True, "servers": {"home": "paused"}}
        assert (health.status_code, health.json) == (200, paused)
        path.write_text(f"{right}\n")
        program.save_rule(custom("Night", "||a.example^"), actor="ann")  # it cannot be applied yet
        program.resume_server("home", actor="ann")
        wait(lambda: state_of(program).state == "ok")
        wait(lambda: "||a.example^" in server.state.user_rules)


def test_a_boundary_that_passed_while_no_process_ran_is_applied_at_the_next_start(
    tmp_path: Path, server: StandIn
) -> None:
    settings = make_settings(tmp_path, servers=(server.settings(),), **RARELY)
    with started(settings) as program:
        begins = time.time() + 2.5
        rule = custom("Night", "||a.example^", window=Window(from_at=begins))
        program.save_rule(rule, actor="ann")
        wait(lambda: state_of(program).rules_version == program.current_rules().version)
    wait(lambda: time.time() > begins)
    assert "||a.example^" not in server.state.user_rules

    with started(settings):
        wait(lambda: "||a.example^" in server.state.user_rules)


def interval_of(program: Program) -> float:
    return float(program.app.sync.schedules.list()["pull-home"].every_seconds)


def test_an_interval_outlives_the_settings_until_it_is_reset(
    tmp_path: Path, server: StandIn
) -> None:
    def settings(seconds: float) -> Settings:
        return make_settings(tmp_path, servers=(server.settings(),), pull_seconds=seconds)

    with started(settings(3600.0)) as program:
        wait(lambda: interval_of(program) == 3600)
        program.set_pull_seconds("home", 1800.0, actor="ann")
        assert interval_of(program) == 1800
    with started(settings(900.0)) as program:
        assert interval_of(program) == 1800
        assert (state_of(program).pull_seconds, state_of(program).is_interval_set) == (1800, True)
    for path in tmp_path.glob("queue.db*"):  # a backup need not have the queue
        path.unlink()
    with started(settings(900.0)) as program:
        wait(lambda: interval_of(program) == 1800)
        program.reset_pull_seconds("home", actor="ann")
        assert interval_of(program) == 900
    with started(settings(700.0)) as program:
        assert interval_of(program) == 700
        assert (state_of(program).pull_seconds, state_of(program).is_interval_set) == (700, False)


def test_a_server_that_was_removed_and_added_again_is_pulled(
    tmp_path: Path, server: StandIn
) -> None:
    with_server = make_settings(tmp_path, servers=(server.settings(),), pull_seconds=3600.0)
    names = {"pull-home", "reconcile-home"}
    with started(with_server) as program:
        wait(lambda: names <= set(program.app.sync.schedules.list()))
    with started(make_settings(tmp_path, servers=())) as program:
        wait(lambda: not names & set(program.app.sync.schedules.list()))
    with started(with_server) as program:
        assert names <= set(program.app.sync.schedules.list())
        assert interval_of(program) == 3600
        assert not program.app.sync.schedules.list()["pull-home"].paused


def test_a_paused_server_that_was_removed_and_added_again_is_still_paused(
    tmp_path: Path, server: StandIn
) -> None:
    with_server = make_settings(tmp_path, servers=(server.settings(),), pull_seconds=3600.0)
    with started(with_server) as program:
        wait(lambda: "pull-home" in program.app.sync.schedules.list())
        program.queue.refuse_login("home", "refused")
    with started(make_settings(tmp_path, servers=())) as program:
        wait(lambda: "pull-home" not in program.app.sync.schedules.list())
    with started(with_server) as program:
        assert program.app.sync.schedules.list()["pull-home"].paused


def test_schedules_that_another_process_has_deleted_stop_no_start(
    tmp_path: Path, server: StandIn, monkeypatch: pytest.MonkeyPatch
) -> None:
    with_server = make_settings(tmp_path, servers=(server.settings(),), pull_seconds=3600.0)
    with started(with_server) as program:
        wait(lambda: "pull-home" in program.app.sync.schedules.list())
    with started(make_settings(tmp_path, servers=())) as program:
        schedules = program.app.sync.schedules
        wait(lambda: "pull-home" not in schedules.list())
        monkeypatch.setattr(schedules, "list", lambda: {"pull-home": None})  # as a slower process
        program._drop_schedules_of_removed_servers()


def test_the_status_names_the_process_that_leads(tmp_path: Path) -> None:
    with started(make_settings(tmp_path)) as program:
        wait(lambda: program.status().leader == process_name())
        with program.database.reading() as tx:
            assert [row.process for row in read_processes(tx)] == [process_name()]


def test_without_its_database_the_pages_answer_503(tmp_path: Path) -> None:
    web = create_app(folder=tmp_path, database="postgresql://nobody@127.0.0.1:1/nothing")
    program: Program = web.extensions["dnslog"]
    try:
        client = web.test_client()
        health = client.get("/healthz", base_url="http://localhost")
        assert (health.status_code, health.json) == (
            503,
            {"ok": False, "ready": False, "servers": {}},
        )
        assert client.get("/login", base_url="http://localhost").status_code == 503
        assert not program.is_ready
        with pytest.raises(DatabaseUnavailable):
            program.status()
    finally:
        program.stop()


def test_a_folder_that_cannot_be_created_is_a_wrong_setting(tmp_path: Path) -> None:
    folder = tmp_path / "file"
    folder.write_text("a file in the place of the folder")
    with pytest.raises(BadSetting, match="cannot be created"):
        Program(make_settings(folder)).prepare()


def test_only_the_owner_reads_the_files(tmp_path: Path, server: StandIn) -> None:
    before = os.umask(0o022)
    folder = tmp_path / "log"
    settings = make_settings(folder, servers=(server.settings(),), **RARELY)
    try:
        with started(settings) as program:
            program.pull_now("home", actor="ann")
            wait(lambda: state_of(program).state == "ok")
            modes = {path.name: stat.S_IMODE(path.stat().st_mode) for path in folder.iterdir()}
    finally:
        os.umask(before)

    assert {"dnslog.db", "dnslog.db-wal", "dnslog.db-shm", "queue.db", "queue.db-wal"} <= set(modes)
    assert set(modes.values()) == {0o600}, modes
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700


def test_the_first_account_has_the_password_of_its_file_and_later_ones_change_nothing(
    tmp_path: Path,
) -> None:
    path = tmp_path / "password"
    path.write_text("correct horse\n")
    program = Program(make_settings(tmp_path, admin_password_file=str(path)))
    program.prepare()
    path.write_text("another one\n")
    program.prepare()

    assert create_first_account(program.database) == ""
    with program.database.reading() as tx:
        account = find_account(tx, "admin")
    assert is_right_password(account, "correct horse")
    program.database.close()


@pytest.mark.parametrize(("text", "reason"), [("short", "must have 8"), (None, "cannot be read")])
def test_a_password_file_that_cannot_be_used_is_a_wrong_setting(
    tmp_path: Path, text: str | None, reason: str
) -> None:
    path = tmp_path / "password"
    if text is not None:
        path.write_text(text)
    program = Program(make_settings(tmp_path, admin_password_file=str(path)))
    with pytest.raises(BadSetting, match=reason):
        program.prepare()
    program.database.close()


def test_a_generated_password_logs_in(tmp_path: Path) -> None:
    program = Program(make_settings(tmp_path))
    program.prepare()

    password = create_first_account(program.database)

    with program.database.reading() as tx:
        assert is_right_password(find_account(tx, "admin"), password)
    assert len(set(password)) > 5
    program.database.close()


def test_a_monitor_needs_no_login(tmp_path: Path) -> None:
    web = create_app(folder=tmp_path)
    try:
        answer = web.test_client().get("/healthz", base_url="http://localhost")
        assert (answer.status_code, answer.json) == (
            200,
            {"ok": True, "ready": True, "servers": {}},
        )
    finally:
        web.extensions["dnslog"].stop()
