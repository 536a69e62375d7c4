"""The time zone of the machine, of which new rules and the pages are."""

from pathlib import Path

import pytest

from fairlane_dnslog.machine_timezone import find_machine_timezone
from fairlane_dnslog.settings import load_settings


@pytest.mark.parametrize(
    ("variable", "text", "link", "expected"),
    [
        ("Asia/Tokyo", "Europe/Berlin", "Europe/Paris", "Asia/Tokyo"),
        (":Asia/Tokyo", "", "", "Asia/Tokyo"),
        ("/usr/share/zoneinfo/Asia/Tokyo", "", "", "Asia/Tokyo"),
        ("CET-1CEST", "Europe/Berlin\n", "Europe/Paris", "Europe/Berlin"),
        ("", "", "Europe/Paris", "Europe/Paris"),
        ("", "no zone", "Etc/UTC", "UTC"),
        ("", "", "", "UTC"),
    ],
)
def test_the_zone_is_found(
    tmp_path: Path, variable: str, text: str, link: str, expected: str
) -> None:
    text_file, link_file = tmp_path / "timezone", tmp_path / "localtime"
    if text:
        text_file.write_text(text)
    if link:
        link_file.symlink_to(f"../usr/share/zoneinfo/{link}")

    found = find_machine_timezone({"TZ": variable}, text_file=text_file, link=link_file)

    assert found == expected


def test_the_setting_is_stronger_than_the_machine(tmp_path: Path) -> None:
    machine = {"TZ": "Asia/Tokyo"}
    assert load_settings(environment=machine, folder=tmp_path).timezone == "Asia/Tokyo"
    given = machine | {"DNSLOG_TIMEZONE": "Europe/Berlin"}
    assert load_settings(environment=given, folder=tmp_path).timezone == "Europe/Berlin"
