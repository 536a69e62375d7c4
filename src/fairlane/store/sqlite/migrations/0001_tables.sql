-- Live jobs only: small, hot, and in the field order of LiveJob.
CREATE TABLE job (
    id TEXT PRIMARY KEY,
    task TEXT NOT NULL,
    queue TEXT NOT NULL,
    lane TEXT,
    kind TEXT NOT NULL,
    priority INTEGER NOT NULL CHECK (priority BETWEEN 0 AND 2),
    position TEXT NOT NULL,
    state TEXT NOT NULL CHECK (
        state IN (
            'created', 'scheduled', 'queued', 'blocked', 'running', 'retrying', 'interrupted'
        )
    ),
    terms TEXT NOT NULL,
    dedupe TEXT,
    exclusive INTEGER NOT NULL,
    digest TEXT,
    bucket TEXT,
    attempt INTEGER NOT NULL,
    failures INTEGER NOT NULL,
    crashes INTEGER NOT NULL,
    fence INTEGER NOT NULL,
    holds_lane INTEGER NOT NULL,
    worker TEXT,
    due_at REAL,
    reason TEXT,
    cancel_outputs TEXT,
    created_at REAL NOT NULL,
    started_at REAL,
    updated_at REAL,
    deadline_at REAL
) WITHOUT ROWID;

-- A unique index treats NULLs as different, so jobs without a lane never conflict here, and the
-- index also finds all running jobs.
CREATE UNIQUE INDEX job_running ON job (queue, lane) WHERE state = 'running';

CREATE UNIQUE INDEX job_exclusive ON job (queue, lane) WHERE exclusive = 1 AND lane IS NOT NULL;

CREATE UNIQUE INDEX job_dedupe ON job (dedupe) WHERE dedupe IS NOT NULL;

-- Has all columns that counts and lanes need, so that a snapshot never reads the wide rows.
CREATE INDEX job_waiting ON job (queue, priority, position, state, lane, holds_lane)
WHERE state <> 'running';

-- The parts of a submission that are in neither `job` nor `ended`, written once, never changed.
CREATE TABLE detail (
    id TEXT PRIMARY KEY,
    terms TEXT NOT NULL,
    dedupe TEXT,
    digest TEXT,
    bucket TEXT,
    params TEXT NOT NULL,
    meta TEXT NOT NULL,
    options TEXT NOT NULL,
    schedule TEXT
) WITHOUT ROWID;

-- The history; `number` is the order of ending.
CREATE TABLE ended (
    number INTEGER PRIMARY KEY,
    id TEXT NOT NULL UNIQUE,
    state TEXT NOT NULL CHECK (state IN ('completed', 'failed', 'cancelled', 'skipped')),
    task TEXT NOT NULL,
    queue TEXT NOT NULL,
    lane TEXT,
    kind TEXT NOT NULL,
    priority INTEGER NOT NULL CHECK (priority BETWEEN 0 AND 2),
    attempt INTEGER NOT NULL,
    failures INTEGER NOT NULL,
    crashes INTEGER NOT NULL,
    fence INTEGER NOT NULL,
    worker TEXT,
    started_at REAL,
    created_at REAL NOT NULL,
    ended_at REAL NOT NULL,
    result TEXT,
    error TEXT,
    reason TEXT,
    report TEXT
);

CREATE INDEX ended_otherwise ON ended (state) WHERE state <> 'completed';

CREATE TABLE report (
    job TEXT PRIMARY KEY,
    body TEXT NOT NULL,
    at REAL NOT NULL
) WITHOUT ROWID;

CREATE TABLE stored_value (
    job TEXT NOT NULL,
    name TEXT NOT NULL,
    body TEXT NOT NULL,
    PRIMARY KEY (job, name)
) WITHOUT ROWID;

CREATE TABLE log (
    number INTEGER PRIMARY KEY,
    job TEXT NOT NULL,
    at REAL NOT NULL,
    level TEXT NOT NULL,
    message TEXT NOT NULL
);

CREATE INDEX log_job ON log (job);

CREATE TABLE event (
    seq INTEGER PRIMARY KEY,
    at REAL NOT NULL,
    type TEXT NOT NULL,
    job TEXT,
    queue TEXT,
    data TEXT NOT NULL
);

CREATE TABLE dependency (
    job TEXT NOT NULL,
    on_job TEXT NOT NULL,
    PRIMARY KEY (job, on_job)
) WITHOUT ROWID;

-- The starts that count for a rate limit.
CREATE TABLE rate_start (
    number INTEGER PRIMARY KEY,
    key TEXT NOT NULL,
    at REAL NOT NULL,
    job TEXT NOT NULL
);

CREATE INDEX rate_start_at ON rate_start (at);

CREATE TABLE stage_grant (
    job TEXT NOT NULL,
    token TEXT NOT NULL,
    uses TEXT NOT NULL,
    PRIMARY KEY (job, token)
) WITHOUT ROWID;

CREATE TABLE lane (
    queue TEXT NOT NULL,
    lane TEXT NOT NULL,
    status TEXT,
    last_job TEXT,
    checkpoint TEXT,
    params TEXT,
    PRIMARY KEY (queue, lane)
) WITHOUT ROWID;

-- Settings, workers, schedules: documents of the leader, by name.
CREATE TABLE record (
    kind TEXT NOT NULL,
    name TEXT NOT NULL,
    body TEXT NOT NULL,
    PRIMARY KEY (kind, name)
) WITHOUT ROWID;

CREATE TABLE firing (
    schedule TEXT NOT NULL,
    fire_at REAL NOT NULL,
    job TEXT,
    count INTEGER NOT NULL,
    reason TEXT,
    PRIMARY KEY (schedule, fire_at)
) WITHOUT ROWID;

-- A number is never used again: a commit that consumes it cannot delete a later row.
CREATE TABLE inbox (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    key TEXT NOT NULL UNIQUE,
    body TEXT NOT NULL,
    at REAL NOT NULL
);

CREATE TABLE answer (
    key TEXT PRIMARY KEY,
    body TEXT NOT NULL,
    at REAL NOT NULL
) WITHOUT ROWID;

CREATE INDEX answer_at ON answer (at);

CREATE TABLE dead_letter (
    input TEXT NOT NULL,
    error TEXT NOT NULL,
    at REAL NOT NULL
);

CREATE TABLE meta (
    name TEXT PRIMARY KEY,
    value INTEGER NOT NULL
) WITHOUT ROWID;

INSERT INTO meta (name, value) VALUES ('epoch', 0);
