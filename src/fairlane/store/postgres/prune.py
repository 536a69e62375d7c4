"""Delete one piece of the history on PostgreSQL."""

# ruff: noqa: S608  the names that are put into SQL here are constants; values are bound.

from typing import Final

from fairlane.store.postgres.address import Address
from fairlane.store.postgres.connection import Connection
from fairlane.store.prune import PIECE, Pruned, Pruning

_NEWEST_TO_GO: Final = (
    "SELECT number FROM fairlane.ended ORDER BY number DESC LIMIT 1 OFFSET $1::bigint"
)
_PIECE: Final = """
SELECT number, id, ended_at < coalesce($1::double precision, ended_at + 1) AS is_old,
    ($2::text[] IS NULL OR state = ANY ($2)) AND ($3::text IS NULL OR queue = $3)
        AND NOT EXISTS (SELECT FROM fairlane.dependency WHERE on_job = piece.id) AS fits
FROM (
    SELECT * FROM fairlane.ended WHERE number > $4 AND number <= coalesce($5::bigint, number)
    ORDER BY number LIMIT $6
) piece
ORDER BY number
"""
# A leader that revives one of these jobs at the same moment either has the row first, or finds it
# deleted. Only the jobs whose row was deleted here lose their other rows.
_ENDED: Final = "DELETE FROM fairlane.ended WHERE id = ANY ($1::text[]) RETURNING id, created_at"
_FIRINGS: Final = """
DELETE FROM fairlane.firing
WHERE schedule IN (SELECT schedule FROM fairlane.detail WHERE id = ANY ($1::text[]))
    AND fire_at <= $2 AND (job IS NULL OR job = ANY ($1::text[]))
    AND fire_at < (
        SELECT max(fire_at) FROM fairlane.firing newest WHERE newest.schedule = firing.schedule
    )
"""
_DELETIONS: Final = tuple(
    f"DELETE FROM fairlane.{table} WHERE {key} = ANY ($1::text[])"
    for table, key in (
        ("log", "job"),
        ("stored_value", "job"),
        ("dependency", "job"),
        ("detail", "id"),
    )
)


async def prune(
    connection: Connection, address: Address, pruning: Pruning, since: Pruned
) -> Pruned:
    """Delete one piece, in a separate transaction."""
    async with connection.transaction():
        up_to = since.up_to
        if up_to is None and pruning.keep is not None:
            up_to = await connection.fetchval(address.sql(_NEWEST_TO_GO), pruning.keep)
            if up_to is None:
                return Pruned(is_done=True)
        rows = await connection.fetch(
            address.sql(_PIECE), pruning.before, list(pruning.states) or None, pruning.queue,
            since.after, up_to, PIECE,
        )  # fmt: skip
        ids = [row["id"] for row in rows if row["is_old"] and row["fits"]]
        jobs = len(ids) if pruning.dry_run else await _delete(connection, address, ids)
        return Pruned(
            jobs=jobs,
            after=rows[-1]["number"] if rows else since.after,
            up_to=up_to,
            # The rows are in the order of ending: the next ones ended later.
            is_done=len(rows) < PIECE or not any(row["is_old"] for row in rows),
        )


async def _delete(connection: Connection, address: Address, ids: list[str]) -> int:
    gone = await connection.fetch(address.sql(_ENDED), ids) if ids else []
    if gone:
        deleted = [row["id"] for row in gone]
        newest = max(row["created_at"] for row in gone)
        await connection.execute(address.sql(_FIRINGS), deleted, newest)
        for statement in _DELETIONS:
            await connection.execute(address.sql(statement), deleted)
    return len(gone)
