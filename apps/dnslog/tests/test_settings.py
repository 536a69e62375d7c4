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
        ("port = 70000", "port is 70000; it must be 1 to 65535"),
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
