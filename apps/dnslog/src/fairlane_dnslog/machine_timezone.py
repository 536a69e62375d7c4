"""The time zone of this machine by name, such as "Europe/Berlin"."""

from collections.abc import Mapping
from pathlib import Path
from typing import Final
from zoneinfo import available_timezones

TEXT_FILE: Final = Path("/etc/timezone")  # of Debian and its relatives
LINK: Final = Path("/etc/localtime")
_FOLDER: Final = "zoneinfo/"
_UTC: Final = ("Etc/UTC", "Etc/UCT", "Etc/Universal", "Etc/Zulu", "UCT", "Universal", "Zulu")


def find_machine_timezone(
    environment: Mapping[str, str], *, text_file: Path = TEXT_FILE, link: Path = LINK
) -> str:
    """Return the zone of TZ, of /etc/timezone or of /etc/localtime; UTC if none names one."""
    known = available_timezones()
    for name in (_of_variable(environment.get("TZ", "")), _of_text(text_file), _of_link(link)):
        if name in known:
            return "UTC" if name in _UTC else name
    return "UTC"


def _of_variable(text: str) -> str:
    """Return the zone of TZ, which may be ":Europe/Berlin" or the path of a file of a zone."""
    text = text.removeprefix(":")
    return text.rpartition(_FOLDER)[2] if text.startswith("/") else text


def _of_text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8").strip()
    except (OSError, UnicodeDecodeError):
        return ""


def _of_link(path: Path) -> str:
    try:
        target = str(path.readlink())
    except OSError:
        return ""
    return target.rpartition(_FOLDER)[2]
