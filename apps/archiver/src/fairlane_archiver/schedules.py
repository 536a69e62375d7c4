"""Schedules that continue rows."""

import re
from typing import Any, Final

from fairlane import BadSetting, Fairlane, UnknownName
from fairlane_archiver.file_names import folder_name
from fairlane_archiver.program import CONTINUE

ALL: Final = "every account"
# A machine that slept at three o'clock runs the missed schedule at seven, once.
_GRACE_SECONDS: Final = 86_400.0
_SECONDS: Final = {"m": 60.0, "h": 3_600.0, "d": 86_400.0}


def schedule_name(account: str | None) -> str:
    """Return the name of a row's schedule, without slashes."""
    return ALL if account is None else folder_name(account)


async def save_schedule(
    app: Fairlane, account: str | None, *, cron: str | None, every: str | None, timezone: str | None
) -> dict[str, Any]:
    """Continue a row, or all rows, at these times, with their filters of that time."""
    if (cron is None) == (every is None):
        raise BadSetting('say when: --cron "0 3 * * *" (each day at three) or --every 6h')
    call = app.tasks[CONTINUE].call(account=account)
    name = schedule_name(account)
    await app.schedules.save(
        name, call, cron=cron, every_seconds=None if every is None else parse_interval(every),
        timezone=timezone or "UTC", grace_seconds=_GRACE_SECONDS,
    )  # fmt: skip
    view = (await app.schedules.list())[name]
    return {"schedule": name, "account": account, "next_at": view.next_at}


async def delete_schedule(app: Fairlane, account: str | None) -> bool:
    """Delete the schedule of a row; return whether there was one."""
    try:
        await app.schedules.delete(schedule_name(account))
    except UnknownName:
        return False
    return True


def parse_interval(text: str) -> float:
    found = re.fullmatch(r"([0-9]{1,6})([mhd])", text.strip())
    if found is None or int(found[1]) == 0:
        raise BadSetting(f"--every is {text!r}; write 30m, 6h or 2d")
    return int(found[1]) * _SECONDS[found[2]]
