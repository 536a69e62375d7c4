"""Words that cannot be meant are refused in one line, with the exit code of their kind."""

import threading
from http.server import BaseHTTPRequestHandler, HTTPServer
from importlib.metadata import version
from pathlib import Path

import pytest

from tests.cli.commands import CommandLine, Server

DEEP = '{"handle": ' + "[" * 5000 + "]" * 5000 + "}"


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["jobs", "--since", "99999999999w"], "the maximum is 999999999 days"),
        (["jobs", "--since", "9999999w"], "outside of the years"),
        (["submit", "send", "to=x", "--in", "99999999999w"], "the maximum is 999999999 days"),
        (["submit", "send", "to=x", "--in", "9999999w"], "outside of the years"),
        (["submit", "archive", "handle=x", "items=NaN"], "items contains the number NaN"),
        (["submit", "archive", "handle=x", "items=1e999"], "items contains the number 1e999"),
        (["submit", "archive", "handle=x", "tags=[1, -Infinity]"], "the number -Infinity"),
        (["submit", "archive", "--params", '{"handle": NaN}'], "--params contains the number NaN"),
        (["submit", "archive", "--params", DEEP], "--params is nested too deeply"),
        (["submit", "archive", "--params", r'{"handle": "\ud800"}'], "is not JSON"),
        (["limit", "archive", "9" * 5000], "is not a limit"),
        (["limit", "site", "9" * 5000 + "/60s"], "is not a limit"),
        (["jobs", "--search", "x" * 70_000], "has an invalid URL"),
        (["jobs", "--state", "nonsense"], '"nonsense" is not a state; expected one of created, '),
    ],
)
def test_a_value_that_cannot_be_is_misuse(
    fairlane: CommandLine, words: list[str], said: str
) -> None:
    err = fairlane(*words, code=2).err
    assert said in err
    assert len(err.splitlines()) == 1


@pytest.mark.parametrize(
    "url", ["http://[::1", "http://127.0.0.1:99999", "http://", "http://me:hush@", "me:hush@there"]
)
def test_a_url_that_cannot_be_is_misuse_and_its_password_is_not_told(url: str) -> None:
    said = CommandLine()("jobs", "--url", url, code=2)
    assert "is not the URL of a server" in said.err
    assert "hush" not in said.err


def test_a_password_in_a_url_is_not_told_when_nobody_answers() -> None:
    known = CommandLine(FAIRLANE_URL="http://me:hush@127.0.0.1:9")
    for said in (known("jobs", code=5).err, known("doctor", code=1).out):
        assert "http://127.0.0.1:9" in said
        assert "hush" not in said


def test_a_password_in_a_url_is_not_told_when_somebody_does(server: Server) -> None:
    url = server.url.replace("://", "://me:hush@")
    assert "hush" not in CommandLine(FAIRLANE_URL=url)("doctor").out


@pytest.mark.parametrize("token", ["é", "two words", "a\nline"])
def test_a_token_that_no_header_carries_is_misuse(token: str) -> None:
    said = CommandLine()("jobs", "--url", "http://127.0.0.1:9", "--token", token, code=2)
    assert "the token contains a space or a character outside ASCII" in said.err
    assert token not in said.err


def test_a_word_that_is_not_utf8_is_misuse() -> None:
    said = CommandLine().in_shell("", "show", b"\xff", "--url", "http://127.0.0.1:9", code=2)
    assert said.err == 'fairlane: "\\udcff" is not valid UTF-8; expected UTF-8 text\n'


def test_what_is_set_for_servers_does_not_concern_a_visit(server: Server) -> None:
    settings = {"FAIRLANE_READ_TOKEN": "short", "FAIRLANE_TOKEN": "é"}
    CommandLine(FAIRLANE_DATABASE=server.database, **settings)("queues")


class Page(BaseHTTPRequestHandler):
    """A server that is not Fairlane: it answers with a page or a redirect."""

    def do_GET(self) -> None:
        self.send_response(302 if self.path.startswith("/moved") else 200)
        body = b"<html>welcome</html>"
        self.send_header("Location", "/elsewhere")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None: ...


def test_a_page_is_not_taken_for_an_answer() -> None:
    with HTTPServer(("127.0.0.1", 0), Page) as pages:
        serving = threading.Thread(target=pages.serve_forever)
        serving.start()
        url = f"http://127.0.0.1:{pages.server_port}"
        try:
            said = CommandLine(FAIRLANE_URL=url)("queues", code=5)
            moved = CommandLine(FAIRLANE_URL=f"{url}/moved")("queues", code=2)
        finally:
            pages.shutdown()
            serving.join()
    assert "is not a Fairlane server; check the URL" in said.err
    assert "the server answered 302" in moved.err


@pytest.mark.parametrize("id", ["../queues", "..", ".", "", "a/b", "x?y=1", "x#y", "%2e%2e", "é"])
def test_an_id_leads_nowhere_but_to_a_job(fairlane: CommandLine, id: str) -> None:
    for verb in ("show", "log", "explain", "watch", "cancel"):
        assert "is not a valid job id" in fairlane(verb, id, code=3).err


def test_the_id_of_a_job_pauses_no_queue(fairlane: CommandLine) -> None:
    said = fairlane("cancel", "../queues/mail/pause?x=", code=3)
    assert "is not a valid job id" in said.err
    assert all(queue["paused"] is None for queue in fairlane.json("queues")["items"])


@pytest.mark.parametrize("name", ["../jobs", "..", ".", "a/b"])
def test_a_name_leads_nowhere_but_to_its_kind(fairlane: CommandLine, name: str) -> None:
    for words in (["pause", name], ["lanes", name, "x"], ["schedules", name]):
        assert "is not a valid" in fairlane(*words, code=3).err
    assert "not known" in fairlane("pause", "what?x=1#y", code=3).err


def test_the_version_is_printed() -> None:
    assert CommandLine()("--version").out == f"fairlane {version('fairlane')}\n"


def test_a_database_may_be_a_path_in_the_environment(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    CommandLine()("migrate", "--database", "letters.db")
    here = CommandLine(FAIRLANE_DATABASE="letters.db")
    assert here("jobs").out == "no jobs\n"
    assert "all is well" in here("doctor").out or "warnings" in here("doctor").out
