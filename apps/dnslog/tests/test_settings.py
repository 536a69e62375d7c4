"""Settings of wrong types and values: one sentence that names the setting."""

from pathlib import Path

import pytest

from fairlane import BadSetting
from fairlane_dnslog.settings import Settings, load_settings

SERVER = '[[servers]]\nname = "home"\nurl = "http://192.168.1.2"\n'


def load(folder: Path, text: str | bytes) -> Settings:
    content = text.encode() if isinstance(text, str) else text
    (folder / "dnslog.toml").write_bytes(content)
    return load_settings(environment={}, folder=folder)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("hosts = 5", "hosts is 5; it must be a list of texts"),
        ("hosts = [5]", r"hosts is \[5\]; it must be a list of texts"),
        ("port = 70000", "port is 70000; it must be 0 to 65535"),
        ("pull_seconds = 0.5", "pull_seconds is 0.5; it must be 1 to 86400"),
        ("keep_days = 1000000", "keep_days is 1000000; it must be 0 to 36500"),
        (f"pull_seconds = {'9' * 400}", "pull_seconds is 9+; it must be a number"),
        (f"pull_seconds = {'9' * 5000}", "dnslog.toml cannot be read as TOML"),
        ('admin_password_file = "~nosuchuser/x"', 'admin_password_file is "~nosuchuser/x"'),
        (SERVER + 'password_file = "a\\u0000b"', 'password file of server "home" cannot be read'),
        (SERVER.replace("192.168.1.2", "a" * 70), 'the url of server "home" is not an address'),
        (SERVER.replace("192.168.1.2", "a\\tb"), 'the url of server "home" is not an address'),
        ("page_size = 1.5", "page_size is 1.5; it must be a whole number"),
        ("keep_days = true", "keep_days is True; it must be a whole number"),
        ("pull_seconds = [10]", r"pull_seconds is \[10\]; it must be a number"),
        ("pull_seconds = nan", "pull_seconds is nan; it must be a number"),
        ("timezone = 1", "timezone is 1; it must be a text"),
        ("servers = 5", "servers must be at most 50 tables"),
        (SERVER + "username = 5", "username of a server is 5; it must be a text"),
        (SERVER + "verify = 5", "verify is 5; it must be true or false"),
        (SERVER + 'ca_file = "missing.pem"', 'ca_file of server "home" is no file: .*missing.pem'),
        (b"timezone = '\xff'", "dnslog.toml cannot be read as TOML"),
    ],
)
def test_a_wrong_setting_is_one_sentence(tmp_path: Path, text: str | bytes, message: str) -> None:
    with pytest.raises(BadSetting, match=message):
        load(tmp_path, text)


def test_a_list_of_host_names_is_a_list_or_a_text(tmp_path: Path) -> None:
    assert load(tmp_path, 'hosts = ["a.example", " b.example "]').hosts == (
        "a.example",
        "b.example",
    )
    assert load(tmp_path, 'hosts = "a.example, b.example"').hosts == ("a.example", "b.example")


def test_a_database_file_is_relative_to_the_settings(tmp_path: Path) -> None:
    found = load(tmp_path, 'database = "sqlite:///log.db"')
    assert found.database == f"sqlite:///{tmp_path}/log.db"


def test_the_scheme_of_an_address_is_written_small(tmp_path: Path) -> None:
    [server] = load(tmp_path, SERVER.replace("http:", "HTTPS:")).servers
    assert server.url == "https://192.168.1.2"


def test_no_server_gets_the_password_of_another(tmp_path: Path) -> None:
    others = '[[servers]]\nname = "{}"\nurl = "http://192.168.1.3"\npassword = "own"\n'
    (tmp_path / "dnslog.toml").write_text(SERVER + others.format("office") + others.format("file"))
    (tmp_path / "secret").write_text("from the file")
    environment = {"DNSLOG_PASSWORD": "of home", "DNSLOG_PASSWORD_OFFICE": "of the office"}
    found = load_settings(environment=environment, folder=tmp_path).servers
    assert [one.password for one in found] == ["of home", "of the office", "own"]
    environment = {"DNSLOG_PASSWORD_FILE": str(tmp_path / "secret")}
    found = load_settings(environment=environment, folder=tmp_path).servers
    passwords = [one.with_current_password().password for one in found]
    assert passwords == ["from the file", "own", "own"]
