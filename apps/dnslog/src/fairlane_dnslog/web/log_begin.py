"""The first instant of the log, before which nothing was counted."""

from typing import Final

from fairlane_dnslog.database import Transaction

_OLDEST: Final = """
SELECT start FROM rollup
WHERE grain = :grain AND kind = 'total' AND start >= :since AND start < :until {of_server}
ORDER BY start LIMIT 1
"""
_DAY_SECONDS: Final = 86_400
_END: Final = 2**62  # after every bucket
_FINER: Final = (("hour", _DAY_SECONDS), ("minute", 3600))  # with the length of the coarser bucket


def log_begin(tx: Transaction, server: str = "") -> int | None:
    """Return the start of the first bucket with queries, of one server or of all.

    Retention deletes the minutes and hours of old days, so the day is read first; an hour or a
    minute makes it more precise only if it is in that day or hour.
    """
    begin = _oldest(tx, "day", server, 0, _END)
    if begin is None:
        return None
    for grain, seconds in _FINER:
        finer = _oldest(tx, grain, server, begin, begin + seconds)
        if finer is None:
            break
        begin = finer
    return begin


def _oldest(tx: Transaction, grain: str, server: str, since: int, until: int) -> int | None:
    condition, values = ("AND server = :server", {"server": server}) if server else ("", {})
    sql = _OLDEST.format(of_server=condition)
    row = tx.row(sql, grain=grain, since=since, until=until, **values)
    return None if row is None else int(row["start"])
