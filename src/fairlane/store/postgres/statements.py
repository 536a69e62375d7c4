"""The statements besides the commit, named by their rows or by the method that runs them.

They are written for the default schema; `Address.sql` replaces it. Rows that are selected by a list
of ids are found by one step in an index for each id.
"""

# ruff: noqa: S608  the names that are put into SQL here are constants; values are bound.

from typing import Final

from fairlane.core.lifecycle import Priority
from fairlane.core.live_job import LiveJob
from fairlane.store.columns import DETAIL, ENDED, JOB, StoredJob, selected

CHUNK: Final = 10_000  # jobs read in one piece

PLACEHOLDER: Final = "$"
LIVE_TABLE: Final = "fairlane.live"
ENDED_TABLE: Final = "fairlane.ended"
ORDER_OF_RUNNING: Final = "id"

_IN_LIVE: Final = {"live": JOB, "detail": DETAIL}
_IN_ENDED: Final = {"ended": ENDED, "detail": DETAIL}
_WITH_DETAIL: Final = """
JOIN fairlane.detail ON detail.id = live.id LEFT JOIN fairlane.report ON report.job = live.id
"""
_REPORT: Final = {"report": "report.body", "reported_at": "report.at"}
_LIVE: Final = selected(StoredJob, _IN_LIVE, _REPORT, dialect="postgres")
_ENDED: Final = selected(StoredJob, _IN_ENDED, dialect="postgres")
_JOB: Final = selected(LiveJob, _IN_LIVE, dialect="postgres")
_ENDED_JOB: Final = selected(LiveJob, _IN_ENDED, dialect="postgres")

LIVE_JOBS: Final = f"""
SELECT {_LIVE} FROM unnest($1::text[]) wanted (id)
JOIN fairlane.live ON live.id = wanted.id {_WITH_DETAIL}
"""
ENDED_JOBS: Final = f"""
SELECT {_ENDED} FROM unnest($1::text[]) wanted (id)
JOIN fairlane.ended ON ended.id = wanted.id JOIN fairlane.detail ON detail.id = ended.id
"""
CREATED_JOBS: Final = """
SELECT body, at FROM fairlane.inbox
WHERE EXISTS (SELECT FROM unnest($1::text[]) wanted (id) WHERE strpos(inbox.body, wanted.id) > 0)
"""
RUNNING_JOBS: Final = f"""
SELECT {_LIVE} FROM fairlane.running JOIN fairlane.live ON live.id = running.job {_WITH_DETAIL}
ORDER BY live.started_at, live.id
"""
_IS_WAITING: Final = "NOT EXISTS (SELECT FROM fairlane.running WHERE running.job = job.id)"
# A strict queue ignores priorities: all its jobs have the same rank.
_HAS_STRICT_ORDER: Final = """
kind = 'queue' AND coalesce(
    body::json -> 'operator' ->> 'order', body::json -> 'code' ->> 'order'
) = 'strict'
"""
_IS_STRICT: Final = f"EXISTS (SELECT FROM fairlane.record WHERE name = $1 AND {_HAS_STRICT_ORDER})"
_RANK: Final = f"""
CASE WHEN queue IN (SELECT name FROM fairlane.record WHERE {_HAS_STRICT_ORDER})
    THEN 0 ELSE priority
END
"""


def _line(limit: str, bound: str) -> str:
    """Select the first jobs of a queue: those of each priority come from the index, in order."""
    parts = (
        f"""(
            SELECT id, position, CASE WHEN {_IS_STRICT} THEN 0 ELSE {priority:d} END AS rank
            FROM fairlane.job
            WHERE queue = $1 AND priority = {priority:d}
                AND position > {bound.format(priority=int(priority))} AND {_IS_WAITING}
            ORDER BY queue, priority, position LIMIT {limit}
        )"""
        for priority in Priority
    )
    return f"SELECT * FROM ({' UNION ALL '.join(parts)}) a ORDER BY rank, position LIMIT {limit}"


# A job that waits for dependencies has no position and comes after those that have one.
WAITING_JOBS: Final = f"""
SELECT {_LIVE} FROM (
    ({_line("$2", "''")})
    UNION ALL
    SELECT id, position, CASE WHEN {_IS_STRICT} THEN 0 ELSE priority END FROM (
        SELECT id, position, priority FROM fairlane.job
        WHERE queue = $1 AND position = '' AND {_IS_WAITING}
        ORDER BY queue, priority LIMIT $2
    ) unplaced
    LIMIT $2
) first JOIN fairlane.live ON live.id = first.id {_WITH_DETAIL}
ORDER BY live.position = '', first.rank, live.position, live.id
"""
# $2 and $3 are the priority and the position of the last job before the page; `g` is behind all.
_BEHIND: Final = f"""CASE
    WHEN $2 = {{priority}} OR {_IS_STRICT} THEN $3 WHEN $2 < {{priority}} THEN '' ELSE 'g'
END"""
JOBS_BEHIND: Final = f"""
SELECT {_LIVE} FROM ({_line("$4", _BEHIND)}) line
JOIN fairlane.live ON live.id = line.id {_WITH_DETAIL}
ORDER BY line.rank, live.position
"""
COUNTS: Final = """
SELECT queue, state, count(*) AS amount FROM fairlane.live GROUP BY queue, state
"""
_LANES: Final = "SELECT queue, lane, status, last_job, checkpoint, params FROM fairlane.lane"
LANES: Final = _LANES
LANES_OF_QUEUE: Final = f"{_LANES} WHERE queue = $1"
_NAMED: Final = "(queue, lane) IN (SELECT * FROM unnest($1::text[], $2::text[]))"
LANES_NAMED: Final = f"{_LANES} WHERE {_NAMED}"
LANE_NAMES: Final = "SELECT queue, lane FROM fairlane.lane ORDER BY queue, lane LIMIT $1"
# The job with the least of these texts is the active job of its lane. A space sorts before every
# character of a position, so a shorter position comes first; a job that waits for dependencies has
# none.
_ACTIVE: Final = """
SELECT queue, lane, substr(first, strpos(first, ' ') + 1) AS job FROM (
    SELECT queue, lane, min(
        concat(
            (state <> 'running')::int, (NOT holds_lane)::int, (position = '')::int, {rank},
            position, ' ', id
        ) COLLATE "C"
    ) AS first
    FROM fairlane.live WHERE lane IS NOT NULL {narrowed}
    GROUP BY queue, lane
) lanes
"""
_ACTIVE_JOBS: Final = """
SELECT active.queue, active.lane, live.id, live.state
FROM ({active}) active JOIN fairlane.live ON live.id = active.job
"""
ACTIVE: Final = _ACTIVE_JOBS.format(active=_ACTIVE.format(rank=_RANK, narrowed=""))
ACTIVE_OF_QUEUE: Final = _ACTIVE_JOBS.format(
    active=_ACTIVE.format(rank=_RANK, narrowed="AND queue = $1")
)
ACTIVE_NAMED: Final = _ACTIVE_JOBS.format(
    active=_ACTIVE.format(rank=_RANK, narrowed=f"AND {_NAMED}")
)
HISTORY: Final = f"""
SELECT {_ENDED}, ended.number
FROM ({{numbers}}) found JOIN fairlane.ended ON ended.number = found.number
JOIN fairlane.detail ON detail.id = ended.id
ORDER BY ended.number DESC
"""
LISTED: Final = f"""
SELECT {_LIVE} FROM ({{ids}}) found JOIN fairlane.live ON live.id = found.id {_WITH_DETAIL}
ORDER BY live.id DESC
"""
# A search must not reveal a secret: if there is one, each other parameter is searched separately.
# Parameters with NaN or Infinity are not JSON for PostgreSQL and cannot be searched then.
_HAS_TEXT: Final = """(
    strpos(lower(concat_ws(' ', {table}.id, {table}.task, {table}.lane)), lower($1)) > 0
    OR EXISTS (
        SELECT FROM fairlane.detail WHERE detail.id = {table}.id AND (
            strpos(lower(detail.meta), lower($2)) > 0 OR CASE
                WHEN strpos(detail.options, '"secrets"') = 0
                THEN strpos(lower(detail.params), lower($2)) > 0
                WHEN detail.params !~ 'NaN|Infinity' THEN EXISTS (
                    SELECT FROM json_each(detail.params::json) parameter
                    WHERE strpos(lower(parameter.value::text), lower($2)) > 0
                    AND parameter.key NOT IN (
                        SELECT json_array_elements_text(detail.options::json -> 'secrets')
                    )
                )
            END
        )
    )
"""
LIVE_HAS_TEXT: Final = _HAS_TEXT.format(table="live") + ")"
ENDED_HAS_TEXT: Final = (
    _HAS_TEXT.format(table="ended") + "OR strpos(lower(ended.error), lower($2)) > 0)"
)
# The pages that hold the first $2 events.
EVENTS: Final = """
SELECT ends.oldest, ends.newest, page.body FROM (
    SELECT
        (
            SELECT first FROM fairlane.event
            WHERE last >= (SELECT swept FROM fairlane.leadership) ORDER BY last LIMIT 1
        ) AS oldest,
        (SELECT max(last) FROM fairlane.event) AS newest
) ends LEFT JOIN LATERAL (
    SELECT last, body, sum(amount) OVER (ORDER BY last) - amount AS before FROM (
        SELECT last, body, last - greatest(first - 1, $1) AS amount FROM fairlane.event
        WHERE last > $1 ORDER BY last LIMIT $2
    ) event
) page ON page.before < $2
ORDER BY page.last
"""
LAST_SEQ: Final = "SELECT coalesce(max(last), 0) FROM fairlane.event"
LOG: Final = """
SELECT at, level, message FROM (
    SELECT number, at, level, message FROM fairlane.log
    WHERE job = $1 ORDER BY number DESC LIMIT $2
) newest ORDER BY number
"""
RECORDS: Final = "SELECT kind, name, body FROM fairlane.record"
RECORDS_OF_KIND: Final = f"{RECORDS} WHERE kind = $1"
FIRINGS: Final = """
SELECT schedule, fire_at, job, count, reason FROM fairlane.firing
WHERE schedule = $1 ORDER BY fire_at DESC LIMIT $2
"""
DURATIONS: Final = """
SELECT task, ended_at - started_at FROM (
    SELECT task, state, ended_at, started_at FROM fairlane.ended ORDER BY number DESC LIMIT $1
) lately
WHERE state = 'completed' AND started_at IS NOT NULL
"""
IMAGE: Final = f"SELECT {_JOB} FROM fairlane.live"
IMAGE_OF_FIRST: Final = f"""
SELECT {_JOB} FROM fairlane.live WHERE $1::text IS NULL OR queue = $1
ORDER BY state <> 'running', position = '', {_RANK}, position, id LIMIT $2
"""
DEPENDENCIES: Final = "SELECT job, on_job FROM fairlane.dependency"
RATE_STARTS: Final = "SELECT key, at, job FROM fairlane.rate_start ORDER BY number"
GRANTS: Final = "SELECT job, token, uses FROM fairlane.stage_grant"
# A limit, so that the leader decides these rows before the server ends its silent session.
_MOST_BYTES: Final = 16 * 1024 * 1024
READ_INBOX: Final = f"""
SELECT id, key, body, at,
    EXISTS (SELECT FROM fairlane.answer WHERE answer.key = waiting.key) AS answered
FROM (
    SELECT *, sum(octet_length(body)) OVER (ORDER BY id) - octet_length(body) AS before
    FROM (SELECT * FROM fairlane.inbox WHERE id > $1 ORDER BY id LIMIT $2) inbox
) waiting
WHERE before < {_MOST_BYTES} ORDER BY id
"""
DELETE_FROM_INBOX: Final = "DELETE FROM fairlane.inbox WHERE id = ANY ($1::bigint[])"
ENDED_AS_JOBS: Final = f"""
SELECT {_ENDED_JOB}
FROM unnest($1::text[]) wanted (id)
JOIN fairlane.ended ON ended.id = wanted.id JOIN fairlane.detail ON detail.id = ended.id
"""
PAYLOADS: Final = """
SELECT detail.id, detail.params, detail.meta, detail.options, report.body, lane.checkpoint,
    (SELECT array_agg(ARRAY[v.name, v.body]) FROM fairlane.stored_value v WHERE v.job = detail.id)
FROM unnest($1::text[], $2::text[], $3::text[]) wanted (id, queue, lane)
-- OFFSET 0 forces a lookup by key: the planner has old statistics of a table that grows fast.
CROSS JOIN LATERAL (SELECT * FROM fairlane.detail WHERE detail.id = wanted.id OFFSET 0) detail
LEFT JOIN LATERAL (
    SELECT body FROM fairlane.report WHERE report.job = wanted.id OFFSET 0
) report ON true
LEFT JOIN LATERAL (
    SELECT checkpoint FROM fairlane.lane
    WHERE lane.queue = wanted.queue AND lane.lane = wanted.lane OFFSET 0
) lane ON true
"""
APPEND: Final = """
INSERT INTO fairlane.inbox (key, body, at)
SELECT key, body, at FROM unnest($1::text[], $2::text[], $3::double precision[])
    AS sent (key, body, at)
ON CONFLICT (key) DO NOTHING
"""
# Inside a transaction of the caller; the leader is notified when that transaction commits.
APPEND_INSIDE: Final = """
WITH appended AS (
    INSERT INTO fairlane.inbox (key, body, at) VALUES ($1, $2, $3) ON CONFLICT (key) DO NOTHING
)
SELECT pg_notify($4, 'inbox')
"""
APPEND_INSIDE_QUIETLY: Final = """
INSERT INTO fairlane.inbox (key, body, at) VALUES ($1, $2, $3) ON CONFLICT (key) DO NOTHING
"""
# A statement that selects from `quick` does not wait for the disk when its transaction commits.
_QUICKLY: Final = """
WITH quick AS MATERIALIZED (SELECT set_config('synchronous_commit', 'off', true) AS setting)
"""
SEND_REPORT: Final = f"""
{_QUICKLY} INSERT INTO fairlane.inbox (key, body, at)
SELECT key, body, at FROM quick, unnest($1::text[], $2::text[], $3::double precision[])
    AS sent (key, body, at)
ON CONFLICT (key) DO NOTHING
"""
NOTIFY: Final = f"{_QUICKLY} SELECT pg_notify($1, $2) FROM quick"
LOCK_HOLDER: Final = """
SELECT pid FROM pg_locks
WHERE locktype = 'advisory' AND granted AND objsubid = 1
    AND database = (SELECT oid FROM pg_database WHERE datname = current_database())
    AND (classid::bigint << 32 | objid::bigint) = $1
"""
RENEW_LEASE: Final = f"""
{_QUICKLY}, held AS MATERIALIZED ({LOCK_HOLDER}), renewed AS (
    UPDATE fairlane.lease SET beats = beats + 1, renewed_at = clock_timestamp()
    FROM quick WHERE worker = $2
    RETURNING EXISTS (SELECT 1 FROM fairlane.record WHERE kind = 'worker' AND name = $2) AS known
)
SELECT (SELECT known FROM renewed), EXISTS (SELECT 1 FROM held)
"""
BEGIN_LEASE: Final = (
    "INSERT INTO fairlane.lease (worker, beats) VALUES ($1, 0) ON CONFLICT DO NOTHING"
)
DELETE_MESSAGES: Final = f"""
{_QUICKLY} DELETE FROM fairlane.message USING quick
WHERE worker = $1 AND number > $2 AND number <= $3
"""
MESSAGES: Final = """
SELECT number, body FROM fairlane.message WHERE worker = $1 AND number > $2 ORDER BY number
"""
LEASE_COUNTS: Final = """
SELECT worker, beats, extract(epoch FROM clock_timestamp() - renewed_at)::double precision
FROM fairlane.lease
UNION ALL
SELECT NULL, count(*), 0 FROM (SELECT 1 FROM fairlane.inbox WHERE id > $1 LIMIT 1) unread
"""
ANSWERS: Final = """
SELECT answer.key, answer.body FROM unnest($1::text[]) wanted (key)
JOIN fairlane.answer ON answer.key = wanted.key
"""
VERSION: Final = """
SELECT coalesce((SELECT max(number) FROM fairlane.committed), 0),
    coalesce((SELECT max(id) FROM fairlane.inbox), 0)
"""
RAISE_EPOCH: Final = """
UPDATE fairlane.leadership SET epoch = epoch + 1, leader = $1 RETURNING epoch
"""
OLDEST_EVENT: Final = """
SELECT first FROM fairlane.event
WHERE last >= (SELECT swept FROM fairlane.leadership) ORDER BY last LIMIT 1
"""
CLOCK: Final = "SELECT extract(epoch FROM clock_timestamp())::double precision"
LEADER: Final = f"SELECT leader FROM fairlane.leadership WHERE EXISTS ({LOCK_HOLDER})"

SUBMISSION: Final = """
SELECT past.task, past.queue, past.lane, past.kind, detail.terms, detail.dedupe, detail.digest,
    detail.bucket, detail.params, detail.meta, detail.options
FROM (
    SELECT id, task, queue, lane, kind FROM fairlane.ended WHERE id = $1
    UNION ALL
    SELECT id, task, queue, lane, kind FROM fairlane.job WHERE id = $1
) past JOIN fairlane.detail ON detail.id = past.id
"""
