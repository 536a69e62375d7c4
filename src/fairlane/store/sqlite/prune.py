"""Delete one piece of the history on SQLite."""

# ruff: noqa: S608  the names that are put into SQL here are constants; values are bound.

from typing import Any, Final

import apsw
import msgspec

from fairlane.store.prune import PIECE, Pruned, Pruning

_NEWEST_TO_GO: Final = "SELECT number FROM ended ORDER BY number DESC LIMIT 1 OFFSET :keep"
_PIECE: Final = """
SELECT json_group_array(json_array(
    number, id, ended_at < coalesce(:before, ended_at + 1),
    (:states IS NULL OR state IN (SELECT value FROM json_each(:states)))
        AND (:queue IS NULL OR queue = :queue)
        AND id NOT IN (SELECT on_job FROM dependency)
) ORDER BY number) FROM (
    SELECT * FROM ended
    WHERE number > :after AND number <= coalesce(:up_to, number)
    ORDER BY number LIMIT :most
)
"""
_IDS: Final = "(SELECT value FROM json_each(:ids))"
_DELETIONS: Final = (
    f"""
DELETE FROM firing
WHERE schedule IN (SELECT schedule FROM detail WHERE id IN {_IDS})
    AND fire_at <= (SELECT max(created_at) FROM ended WHERE id IN {_IDS})
    AND (job IS NULL OR job IN {_IDS})
    AND fire_at < (SELECT max(fire_at) FROM firing newest WHERE newest.schedule = firing.schedule)
""",
    *(
        f"DELETE FROM {table} WHERE {key} IN {_IDS}"
        for table, key in (
            ("log", "job"),
            ("stored_value", "job"),
            ("dependency", "job"),
            ("detail", "id"),
            ("ended", "id"),
        )
    ),
)


def prune(connection: apsw.Connection, pruning: Pruning, since: Pruned) -> Pruned:
    """Delete one piece, in a separate transaction."""
    connection.execute("BEGIN" if pruning.dry_run else "BEGIN IMMEDIATE")
    try:
        piece = _piece(connection, pruning, since)
    except BaseException:
        if connection.in_transaction:
            connection.execute("ROLLBACK")
        raise
    connection.execute("COMMIT")
    return piece


def _piece(connection: apsw.Connection, pruning: Pruning, since: Pruned) -> Pruned:
    up_to = since.up_to
    if up_to is None and pruning.keep is not None:
        up_to = connection.execute(_NEWEST_TO_GO, {"keep": pruning.keep}).get
        if up_to is None:
            return Pruned(is_done=True)
    values: dict[str, Any] = {
        "before": pruning.before,
        "states": msgspec.json.encode(pruning.states).decode() if pruning.states else None,
        "queue": pruning.queue,
        "after": since.after,
        "up_to": up_to,
        "most": PIECE,
    }
    rows = msgspec.json.decode(connection.execute(_PIECE, values).get)
    ids = [id for _, id, is_old, fits in rows if is_old and fits]
    if ids and not pruning.dry_run:
        for statement in _DELETIONS:
            connection.execute(statement, {"ids": msgspec.json.encode(ids).decode()})
    return Pruned(
        jobs=len(ids),
        after=rows[-1][0] if rows else since.after,
        up_to=up_to,
        # The rows are in the order of ending: the next ones ended later.
        is_done=len(rows) < PIECE or not any(is_old for _, _, is_old, _ in rows),
    )
