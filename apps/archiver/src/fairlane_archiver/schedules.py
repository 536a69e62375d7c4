"""Rows that are continued by themselves."""

import re
from typing import Any, Final

from fairlane import BadSetting, Fairlane, UnknownName
from fairlane_archiver.file_names import folder_name
from fairlane_archiver.program import CONTINUE

ALL: Final = "every row"
# A machine that slept at three does at seven what it missed, once.
_GRACE_SECONDS: Final = 86_400.0
_SECONDS: Final = {"m": 60.0, "h": 3_600.0, "d": 86_400.0}


def name_of(account: str | None) -> str:
    """Return the name of a row's schedule, which may hold no slash."""
    return ALL if account is None else folder_name(account)


async def put(
    app: Fairlane, account: str | None, *, cron: str | None, every: str | None, timezone: str | None
) -> dict[str, Any]:
    """Continue a row, or all, at these times from now on, as it is saved at each of them."""
    if (cron is None) == (every is None):
        raise BadSetting('say when: --cron "0 3 * * *" (each day at three) or --every 6h')
    call = app.tasks[CONTINUE].call(account=account)
    name = name_of(account)
    await app.schedules.save(
        name, call, cron=cron, every_seconds=None if every is None else seconds(every),
        timezone=timezone or "UTC", grace_seconds=_GRACE_SECONDS,
    )  # fmt: skip
    view = (await app.schedules.list())[name]
    return {"schedule": name, "account": account, "next_at": view.next_at}


async def drop(app: Fairlane, account: str | None) -> bool:
    """Delete the schedule of a row; tell whether there was one."""
    try:
        await app.schedules.delete(name_of(account))
    except UnknownName:
        return False
    return True


def seconds(text: str) -> float:
    found = re.fullmatch(r"([0-9]{1,6})([mhd])", text.strip())
    if found is None or int(found[1]) == 0:
        raise BadSetting(f"--every is {text!r}; write 30m, 6h or 2d")
    return int(found[1]) * _SECONDS[found[2]]
