"""`fairlane-dnslog` in a terminal: its answers, with and without a process that runs."""

import json
import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest
from typer.testing import CliRunner

from apps.dnslog.tests.adguard_servers import make_settings
from apps.dnslog.tests.test_program import started, state_of, wait
from fairlane_dnslog.commands import program
from fairlane_dnslog.pull_log import pause_server
from fairlane_dnslog.settings import load_settings
from fairlane_dnslog.stand_in import StandIn, stand_in


class Answer(NamedTuple):
    code: int
    text: str


@pytest.fixture(autouse=True)
def plain_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in list(os.environ):
        if name.startswith("DNSLOG_"):
            monkeypatch.delenv(name)
    monkeypatch.setenv("COLUMNS", "200")


@pytest.fixture
def server() -> Iterator[StandIn]:
    with stand_in() as running:
        yield running


def run(*arguments: str) -> Answer:
    result = CliRunner().invoke(program, arguments)
    return Answer(result.exit_code, result.output)


def write_settings(folder: Path, server: StandIn, more: str = "") -> None:
    login = server.settings()
    folder.mkdir(exist_ok=True)
    (folder / "password").write_text(f"{login.password}\n")
    (folder / "dnslog.toml").write_text(
        f'pull_seconds = 3600\n{more}\n[[servers]]\nname = "home"\nurl = "{login.url}"\n'
        f'username = "{login.username}"\npassword_file = "{folder}/password"\n'
    )


def test_without_a_process_the_answers_say_so(tmp_path: Path, server: StandIn) -> None:
    write_settings(tmp_path, server)
    folder = ("--folder", str(tmp_path))

    pulled = run("pull", *folder)
    resumed = run("resume", *folder)
    status = run("status", *folder)

    assert pulled == (0, "home: a pull is submitted; no process runs it now\n")
    assert resumed.text == "home: was not paused; a pull is submitted; no process runs it now\n"
    assert "no process runs: start `fairlane-dnslog serve`" in status.text
    assert "stopped" in status.text
    found = json.loads(run("status", "--json", *folder).text)
    assert (found["processes"], found["servers"][0]["state"]) == ([], "stopped")


def test_with_a_process_the_answers_name_the_result(
    tmp_path: Path, server: StandIn, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_settings(tmp_path, server)
    folder = ("--folder", str(tmp_path))
    settings = make_settings(tmp_path, servers=(server.settings(),), pull_seconds=3600.0)
    with started(settings) as running:
        wait(lambda: running_names(folder))
        server.state.log_query("a.example")
        assert run("pull", *folder) == (0, "home: a pull is submitted\n")
        wait(lambda: state_of(running).state == "ok")
        monkeypatch.setenv("COLUMNS", "80")
        shown = run("status", *folder).text
        row = r"^home +ok +3600 s +[\d-]+ [\d:]+ +[\d-]+ [\d:]+ +0 +none"
        assert re.search(row, shown, re.MULTILINE), shown
        assert "no process runs" not in shown
        monkeypatch.setenv("COLUMNS", "200")
        with running.database.transaction() as tx:
            pause_server(tx, "home", reason="401")
        assert run("resume", *folder).text == "home: resumed; a pull is submitted\n"
        assert run("interval", "1800", *folder).text == "home: pulled every 1800 s\n"
        assert "`interval` has set 1800 s; `interval default`" in run("status", *folder).text
        answer = run("interval", "default", *folder)
        assert answer == (0, "home: pulled every 3600 s, by the settings\n")


def running_names(folder: tuple[str, str]) -> list[str]:
    names: list[str] = json.loads(run("status", "--json", *folder).text)["processes"]
    return names


@pytest.mark.parametrize("text", ["0", "-1", "nan", "inf", "ten", "1e9"])
def test_a_wrong_interval_is_refused(tmp_path: Path, text: str) -> None:
    answer = run("interval", "--folder", str(tmp_path), "--", text)
    assert answer.code == 2
    assert 'neither "default" nor a number' in answer.text.replace("\n", " ")


@pytest.mark.parametrize(
    "arguments", [["status"], ["pull"], ["resume"], ["interval", "5"], ["password", "ann"]]
)
def test_a_mistyped_folder_is_named_and_not_created(tmp_path: Path, arguments: list[str]) -> None:
    folder = tmp_path / "lgo"
    answer = run(*arguments, "--folder", str(folder))
    assert answer.code == 2
    assert str(folder / "dnslog.toml") in answer.text
    assert not folder.exists()


def test_the_files_of_the_settings_are_relative_to_their_folder(
    tmp_path: Path, server: StandIn
) -> None:
    write_settings(tmp_path, server)
    settings = tmp_path / "dnslog.toml"
    settings.write_text(settings.read_text().replace(f"{tmp_path}/password", "password"))
    [found] = load_settings(folder=tmp_path).servers
    assert found.password_file == str(tmp_path / "password")


def test_an_unknown_setting_names_the_settings_of_the_file(tmp_path: Path) -> None:
    (tmp_path / "dnslog.toml").write_text("pull_second = 10\n")
    answer = run("status", "--folder", str(tmp_path))
    assert answer.code == 2
    assert "unknown settings: pull_second (known: admin_password_file, console_url" in answer.text
    assert " folder," not in answer.text


@pytest.mark.parametrize("command", ["serve", "status", "pull", "interval", "password"])
def test_the_help_is_whole(monkeypatch: pytest.MonkeyPatch, command: str) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    text = run(command, "--help").text
    assert "~/.local/share/fairlane-dnslog" in text
    assert "…" not in text
    assert command != "serve" or "http://192.168.1.2:3000" in text


def test_a_command_that_ends_promises_no_further_attempt() -> None:
    answer = run("status", "--database", "postgresql://nobody@127.0.0.1:1/nothing")
    assert answer.code == 5
    assert "PostgreSQL cannot be used" in answer.text
    assert "again" not in answer.text
