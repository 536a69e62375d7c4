"""The statements that read, named by their rows.

Each gathers its rows into one JSON text inside SQLite, for the same reason as a commit is one
statement: every row that the driver returns costs a wait for Python's lock, and 100,000 rows next
to a computing thread would take minutes.
"""

# ruff: noqa: S608  the names that are put into SQL here are constants; values are bound.

from typing import Final

from fairlane.core.lifecycle import Priority
from fairlane.core.live_job import LiveJob
from fairlane.store.columns import DETAIL, ENDED, JOB, StoredJob, selected

CHUNK: Final = 10_000  # jobs in one JSON text

PLACEHOLDER: Final = "?"
LIVE_TABLE: Final = "job"
ENDED_TABLE: Final = "ended"
ORDER_OF_RUNNING: Final = (
    "+id"  # sorts the few running jobs and does not step over all waiting ones
)

_IN_LIVE: Final = {"job": JOB, "detail": DETAIL}
_IN_ENDED: Final = {"ended": ENDED, "detail": DETAIL}
_WITH_DETAIL: Final = "JOIN detail ON detail.id = job.id LEFT JOIN report ON report.job = job.id"
_REPORT: Final = {"report": "report.body", "reported_at": "report.at"}
_LIVE: Final = selected(StoredJob, _IN_LIVE, _REPORT, dialect="sqlite")
_ENDED: Final = selected(StoredJob, _IN_ENDED, dialect="sqlite")
_JOB: Final = selected(LiveJob, _IN_LIVE, dialect="sqlite")
_ENDED_JOB: Final = selected(LiveJob, _IN_ENDED, dialect="sqlite")

LIVE_JOBS: Final = f"""
SELECT json_group_array(json_array({_LIVE})) FROM json_each(?) wanted
CROSS JOIN job ON job.id = wanted.value {_WITH_DETAIL}
"""
ENDED_JOBS: Final = f"""
SELECT json_group_array(json_array({_ENDED})) FROM json_each(?) wanted
CROSS JOIN ended ON ended.id = wanted.value JOIN detail ON detail.id = ended.id
"""
CREATED_JOBS: Final = """
SELECT json_group_array(json_array(body, at)) FROM inbox
WHERE EXISTS (SELECT 1 FROM json_each(?) wanted WHERE instr(inbox.body, wanted.value))
"""
RUNNING_JOBS: Final = f"""
SELECT json_group_array(json_array({_LIVE}) ORDER BY job.started_at, job.id)
FROM job {_WITH_DETAIL} WHERE job.state = 'running'
"""
# A strict queue ignores priorities: all its jobs have the same rank.
_HAS_STRICT_ORDER: Final = """
kind = 'queue' AND coalesce(body ->> '$.operator.order', body ->> '$.code.order') = 'strict'
"""
_IS_STRICT: Final = f"EXISTS (SELECT 1 FROM record WHERE name = ?1 AND {_HAS_STRICT_ORDER})"
_RANK: Final = f"""
iif(queue IN (SELECT name FROM record WHERE {_HAS_STRICT_ORDER}), 0, priority)
"""


def _line(limit: str, bound: str) -> str:
    """Select the first jobs of a queue: those of each priority come from the index, in order."""
    parts = (
        f"""SELECT * FROM (
            SELECT id, position, iif({_IS_STRICT}, 0, {priority:d}) AS rank FROM job
            WHERE queue = ?1 AND state <> 'running' AND priority = {priority:d}
                AND position > {bound.format(priority=int(priority))}
            ORDER BY position LIMIT {limit}
        )"""
        for priority in Priority
    )
    return f"SELECT * FROM ({' UNION ALL '.join(parts)}) ORDER BY rank, position LIMIT {limit}"


# A job that waits for dependencies has no position and comes after those that have one.
WAITING_JOBS: Final = f"""
SELECT json_group_array(
    json_array({_LIVE}) ORDER BY job.position = '', first.rank, job.position, job.id
) FROM (
    SELECT * FROM ({_line("?2", "''")})
    UNION ALL
    SELECT * FROM (
        SELECT id, position, iif({_IS_STRICT}, 0, priority) FROM job
        WHERE queue = ?1 AND state <> 'running' AND position = ''
        ORDER BY priority LIMIT ?2
    )
    LIMIT ?2
) first CROSS JOIN job ON job.id = first.id {_WITH_DETAIL}
"""
# ?2 and ?3 are the priority and the position of the last job before the page; `g` is behind all.
_BEHIND: Final = f"""CASE
    WHEN ?2 = {{priority}} OR {_IS_STRICT} THEN ?3 WHEN ?2 < {{priority}} THEN '' ELSE 'g'
END"""
JOBS_BEHIND: Final = f"""
SELECT json_group_array(json_array({_LIVE}) ORDER BY line.rank, job.position)
FROM ({_line("?4", _BEHIND)}) line CROSS JOIN job ON job.id = line.id {_WITH_DETAIL}
"""
# Most jobs are queued; to count them separately needs no sort: the index has them by queue.
COUNTS: Final = """
SELECT json_group_array(json_array(queue, state, amount)) FROM (
    SELECT queue, 'queued' AS state, sum(state = 'queued') AS amount
    FROM job WHERE state <> 'running' GROUP BY queue HAVING amount > 0
    UNION ALL
    SELECT queue, state, count(*) FROM job WHERE state <> 'running' AND state <> 'queued'
    GROUP BY queue, state
    UNION ALL
    SELECT queue, 'running', count(*) FROM job WHERE state = 'running' GROUP BY queue
)
"""
LANES: Final = """
SELECT json_group_array(json_array(queue, lane, status, last_job, checkpoint, params)) FROM lane
"""
LANES_OF_QUEUE: Final = LANES + "WHERE queue = ?1"
_NAMED: Final = "IN (SELECT value ->> 0, value ->> 1 FROM json_each(?1))"
LANES_NAMED: Final = f"{LANES} WHERE (queue, lane) {_NAMED}"
LANE_NAMES: Final = """
SELECT json_group_array(json_array(queue, lane)) FROM (
    SELECT queue, lane FROM lane ORDER BY queue, lane LIMIT ?1
)
"""
# With min(), SQLite returns the other columns of the same row. A space sorts before every character
# of a position, so a shorter position comes first; a job that waits for dependencies has none.
_ACTIVE: Final = """
SELECT json_group_array(json_array(queue, lane, id, state)) FROM (
    SELECT queue, lane, id, 'running' AS state FROM job
    WHERE state = 'running' AND lane IS NOT NULL {narrowed}
    UNION ALL
    SELECT queue, lane, id, state FROM (
        SELECT queue, lane, id, state,
            min((holds_lane = 0) || (position = '') || {rank} || position || ' ' || id)
        FROM job WHERE state <> 'running' AND lane IS NOT NULL {narrowed}
        GROUP BY queue, lane
    ) next
    WHERE NOT EXISTS (
        SELECT 1 FROM job runs
        WHERE runs.state = 'running' AND runs.queue = next.queue AND runs.lane = next.lane
    )
)
"""
ACTIVE: Final = _ACTIVE.format(rank=_RANK, narrowed="")
ACTIVE_OF_QUEUE: Final = _ACTIVE.format(rank=_RANK, narrowed="AND queue = ?1")
HOLDERS_NAMED: Final = f"""
SELECT json_group_array(json_array(queue, lane, id, state)) FROM job
WHERE state <> 'running' AND lane IS NOT NULL AND holds_lane = 1 AND (+queue, +lane) {_NAMED}
"""
# The plus signs make SQLite read the index of waiting jobs once, not once for each lane.
ACTIVE_NAMED: Final = _ACTIVE.format(rank=_RANK, narrowed=f"AND (+queue, +lane) {_NAMED}")
HISTORY: Final = f"""
SELECT json_group_array(json_array({_ENDED}, ended.number) ORDER BY ended.number DESC)
FROM ({{numbers}}) found CROSS JOIN ended ON ended.number = found.number
JOIN detail ON detail.id = ended.id
"""
LISTED: Final = f"""
SELECT json_group_array(json_array({_LIVE}) ORDER BY job.id DESC)
FROM ({{ids}}) found CROSS JOIN job ON job.id = found.id {_WITH_DETAIL}
"""
# A search must not reveal a secret: if there is one, each other parameter is searched separately.
_HAS_TEXT: Final = """(
    instr(lower({table}.id || ' ' || {table}.task || ' ' || coalesce({table}.lane, '')), lower(?1))
    OR EXISTS (
        SELECT 1 FROM detail WHERE detail.id = {table}.id AND (
            instr(lower(detail.meta), lower(?2))
            OR CASE WHEN instr(detail.options, '"secrets"') = 0
                THEN instr(lower(detail.params), lower(?2))
                ELSE EXISTS (
                    SELECT 1 FROM json_each(detail.params) parameter
                    WHERE (
                        instr(lower(parameter.value), lower(?1))
                        OR instr(lower(parameter.value), lower(?2))
                    ) AND parameter.key NOT IN (
                        SELECT value FROM json_each(detail.options, '$.secrets')
                    )
                )
            END
        )
    )
"""
LIVE_HAS_TEXT: Final = _HAS_TEXT.format(table="job") + ")"
ENDED_HAS_TEXT: Final = (
    _HAS_TEXT.format(table="ended") + "OR instr(lower(coalesce(ended.error, '')), lower(?2)))"
)
EVENTS: Final = """
SELECT json_group_array(json_array(seq, at, type, job, queue, data) ORDER BY seq) FROM (
    SELECT * FROM event WHERE seq > ?1 ORDER BY seq LIMIT ?2
)
"""
EVENT_RANGE: Final = """
SELECT json_group_array(json_array(oldest, newest)) FROM (
    SELECT (SELECT min(seq) FROM event) AS oldest, (SELECT max(seq) FROM event) AS newest
)
WHERE newest IS NOT NULL
"""
LAST_SEQ: Final = "SELECT coalesce(max(seq), 0) FROM event"
LOG: Final = """
SELECT json_group_array(json_array(at, level, message) ORDER BY number) FROM (
    SELECT * FROM log WHERE job = ?1 ORDER BY number DESC LIMIT ?2
)
"""
RECORDS: Final = "SELECT json_group_array(json_array(kind, name, body)) FROM record"
RECORDS_OF_KIND: Final = RECORDS + " WHERE kind = ?1"
FIRINGS: Final = """
SELECT json_group_array(json_array(schedule, fire_at, job, count, reason) ORDER BY fire_at DESC)
FROM (SELECT * FROM firing WHERE schedule = ?1 ORDER BY fire_at DESC LIMIT ?2)
"""
DURATIONS: Final = """
SELECT json_group_array(json_array(task, ended_at - started_at)) FROM (
    SELECT * FROM ended ORDER BY number DESC LIMIT ?1
)
WHERE state = 'completed' AND started_at IS NOT NULL
"""
IMAGE: Final = f"""
SELECT json_group_array(json_array({_JOB})) FROM (
    SELECT * FROM job WHERE id > ?1 ORDER BY id LIMIT {CHUNK}
) job
"""
IMAGE_OF_FIRST: Final = f"""
SELECT json_group_array(json_array({_JOB})) FROM (
    SELECT id FROM job WHERE ?1 IS NULL OR queue = ?1
    ORDER BY state <> 'running', position = '', {_RANK}, position, id LIMIT coalesce(?2, -1)
) first CROSS JOIN job ON job.id = first.id
"""
DEPENDENCIES: Final = "SELECT json_group_array(json_array(job, on_job)) FROM dependency"
RATE_STARTS: Final = (
    "SELECT json_group_array(json_array(key, at, job) ORDER BY number) FROM rate_start"
)
GRANTS: Final = "SELECT json_group_array(json_array(job, token, uses)) FROM stage_grant"
READ_INBOX: Final = """
SELECT json_group_array(json_array(id, key, body, at, answered) ORDER BY id) FROM (
    SELECT *, EXISTS (SELECT 1 FROM answer WHERE answer.key = inbox.key) AS answered
    FROM inbox ORDER BY id LIMIT ?1
)
"""
DELETE_FROM_INBOX: Final = "DELETE FROM inbox WHERE id IN (SELECT value FROM json_each(?))"
ENDED_AS_JOBS: Final = f"""
SELECT json_group_array(json_array({_ENDED_JOB})) FROM json_each(?) wanted
CROSS JOIN ended ON ended.id = wanted.value JOIN detail ON detail.id = ended.id
"""
PAYLOADS: Final = """
SELECT json_group_array(json_array(
    detail.id, detail.params, detail.meta, detail.options,
    (SELECT body FROM report WHERE job = detail.id),
    (SELECT checkpoint FROM lane
     WHERE queue = wanted.value ->> 1 AND lane = wanted.value ->> 2),
    json((SELECT json_group_object(name, body) FROM stored_value WHERE job = detail.id))
)) FROM jsonb_each(?) wanted CROSS JOIN detail ON detail.id = wanted.value ->> 0
"""
APPEND: Final = "INSERT OR IGNORE INTO inbox (key, body, at) VALUES (?, ?, ?)"
ANSWERS: Final = """
SELECT json_group_array(json_array(answer.key, answer.body)) FROM json_each(?) wanted
CROSS JOIN answer ON answer.key = wanted.value
"""
RAISE_EPOCH: Final = "UPDATE meta SET value = value + 1 WHERE name = 'epoch' RETURNING value"
OLDEST_EVENT: Final = "SELECT min(seq) FROM event"

SUBMISSION: Final = """
SELECT json_group_array(json_array(
    past.task, past.queue, past.lane, past.kind, detail.terms, detail.dedupe, detail.digest,
    detail.bucket, detail.params, detail.meta, detail.options
)) FROM (
    SELECT id, task, queue, lane, kind FROM ended WHERE id = ?1
    UNION ALL
    SELECT id, task, queue, lane, kind FROM job WHERE id = ?1
) past JOIN detail ON detail.id = past.id
"""
