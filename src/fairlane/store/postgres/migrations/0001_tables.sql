-- Text that is compared or sorted is compared by its bytes, as the core does it: COLLATE "C".

-- Live jobs only: small, hot, and in the field order of LiveJob. The start of a job does not change
-- its row, because an update writes a new row with an entry in every index: a start inserts a short
-- row into `running`. Every end leaves a dead row, so the table is vacuumed long before the default
-- of a fifth of it is dead.
CREATE TABLE fairlane.job (
    id text COLLATE "C" PRIMARY KEY,
    task text NOT NULL,
    queue text COLLATE "C" NOT NULL,
    lane text COLLATE "C",
    kind text NOT NULL,
    priority smallint NOT NULL CHECK (priority BETWEEN 0 AND 2),
    position text COLLATE "C" NOT NULL,
    state text COLLATE "C" NOT NULL CHECK (
        state IN (
            'created', 'scheduled', 'queued', 'blocked', 'running', 'retrying', 'interrupted'
        )
    ),
    terms text NOT NULL,
    dedupe text COLLATE "C",
    exclusive boolean NOT NULL,
    digest text,
    bucket text,
    attempt integer NOT NULL,
    failures integer NOT NULL,
    crashes integer NOT NULL,
    fence bigint NOT NULL,
    holds_lane boolean NOT NULL,
    worker text COLLATE "C",
    due_at double precision,
    reason text,
    cancel_outputs text,
    created_at double precision NOT NULL,
    started_at double precision,
    updated_at double precision,
    deadline_at double precision
) WITH (
    autovacuum_vacuum_scale_factor = 0.02,
    autovacuum_vacuum_threshold = 1000,
    autovacuum_vacuum_cost_delay = 0,
    autovacuum_analyze_scale_factor = 0.05
);

CREATE UNIQUE INDEX job_exclusive ON fairlane.job (queue, lane)
WHERE exclusive AND lane IS NOT NULL;

CREATE UNIQUE INDEX job_dedupe ON fairlane.job (dedupe) WHERE dedupe IS NOT NULL;

CREATE INDEX job_waiting ON fairlane.job (queue, priority, position);

-- The columns of a job that change while it runs.
CREATE TABLE fairlane.running (
    job text COLLATE "C" PRIMARY KEY,
    queue text COLLATE "C" NOT NULL,
    lane text COLLATE "C",
    priority smallint NOT NULL,
    position text COLLATE "C" NOT NULL,
    attempt integer NOT NULL,
    failures integer NOT NULL,
    crashes integer NOT NULL,
    fence bigint NOT NULL,
    holds_lane boolean NOT NULL,
    worker text COLLATE "C",
    due_at double precision,
    reason text,
    cancel_outputs text,
    started_at double precision,
    updated_at double precision,
    deadline_at double precision
) WITH (
    autovacuum_vacuum_scale_factor = 0,
    autovacuum_vacuum_threshold = 1000,
    autovacuum_vacuum_cost_delay = 0
);

CREATE UNIQUE INDEX running_lane ON fairlane.running (queue, lane) WHERE lane IS NOT NULL;

-- Live jobs with the values of `running`.
CREATE VIEW fairlane.live AS
SELECT job.id, job.task, job.queue, job.lane, job.kind,
    CASE WHEN running.job IS NULL THEN job.priority ELSE running.priority END AS priority,
    CASE WHEN running.job IS NULL THEN job.position ELSE running.position END AS position,
    CASE WHEN running.job IS NULL THEN job.state ELSE 'running' END AS state,
    job.terms, job.dedupe, job.exclusive, job.digest, job.bucket,
    CASE WHEN running.job IS NULL THEN job.attempt ELSE running.attempt END AS attempt,
    CASE WHEN running.job IS NULL THEN job.failures ELSE running.failures END AS failures,
    CASE WHEN running.job IS NULL THEN job.crashes ELSE running.crashes END AS crashes,
    CASE WHEN running.job IS NULL THEN job.fence ELSE running.fence END AS fence,
    CASE WHEN running.job IS NULL THEN job.holds_lane ELSE running.holds_lane END AS holds_lane,
    CASE WHEN running.job IS NULL THEN job.worker ELSE running.worker END AS worker,
    CASE WHEN running.job IS NULL THEN job.due_at ELSE running.due_at END AS due_at,
    CASE WHEN running.job IS NULL THEN job.reason ELSE running.reason END AS reason,
    CASE WHEN running.job IS NULL THEN job.cancel_outputs ELSE running.cancel_outputs END AS cancel_outputs,
    job.created_at,
    CASE WHEN running.job IS NULL THEN job.started_at ELSE running.started_at END AS started_at,
    CASE WHEN running.job IS NULL THEN job.updated_at ELSE running.updated_at END AS updated_at,
    CASE WHEN running.job IS NULL THEN job.deadline_at ELSE running.deadline_at END AS deadline_at
FROM fairlane.job LEFT JOIN fairlane.running ON running.job = job.id;

-- The parts of a submission that are in neither `job` nor `ended`, written once, never changed.
CREATE TABLE fairlane.detail (
    id text COLLATE "C" PRIMARY KEY,
    terms text NOT NULL,
    dedupe text,
    digest text,
    bucket text,
    params text NOT NULL,
    meta text NOT NULL,
    options text NOT NULL,
    schedule text
);

-- The history; `number` is the order of ending.
CREATE TABLE fairlane.ended (
    number bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    id text COLLATE "C" NOT NULL UNIQUE,
    state text COLLATE "C" NOT NULL CHECK (
        state IN ('completed', 'failed', 'cancelled', 'skipped')
    ),
    task text NOT NULL,
    queue text COLLATE "C" NOT NULL,
    lane text COLLATE "C",
    kind text NOT NULL,
    priority smallint NOT NULL CHECK (priority BETWEEN 0 AND 2),
    attempt integer NOT NULL,
    failures integer NOT NULL,
    crashes integer NOT NULL,
    fence bigint NOT NULL,
    worker text,
    started_at double precision,
    created_at double precision NOT NULL,
    ended_at double precision NOT NULL,
    result text,
    error text,
    reason text,
    report text
);

CREATE INDEX ended_otherwise ON fairlane.ended (state, number) WHERE state <> 'completed';

CREATE TABLE fairlane.report (
    job text COLLATE "C" PRIMARY KEY,
    body text NOT NULL,
    at double precision NOT NULL
) WITH (
    fillfactor = 70,
    autovacuum_vacuum_scale_factor = 0.05,
    autovacuum_vacuum_threshold = 1000
);

CREATE TABLE fairlane.stored_value (
    job text COLLATE "C" NOT NULL,
    name text COLLATE "C" NOT NULL,
    body text NOT NULL,
    PRIMARY KEY (job, name)
);

CREATE TABLE fairlane.log (
    number bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    job text COLLATE "C" NOT NULL,
    at double precision NOT NULL,
    level text NOT NULL,
    message text NOT NULL
);

CREATE INDEX log_job ON fairlane.log (job, number);

-- A page of events that were committed together. A row for each event would cost more than the rest
-- of a commit that ends jobs, and events are only read in order.
CREATE TABLE fairlane.event (
    last bigint PRIMARY KEY,
    first bigint NOT NULL,
    body text NOT NULL
) WITH (
    autovacuum_vacuum_scale_factor = 0.05,
    autovacuum_vacuum_threshold = 1000,
    autovacuum_vacuum_cost_delay = 0
);

CREATE TABLE fairlane.dependency (
    job text COLLATE "C" NOT NULL,
    on_job text COLLATE "C" NOT NULL,
    PRIMARY KEY (job, on_job)
);

-- The starts that count for a rate limit.
CREATE TABLE fairlane.rate_start (
    number bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    key text NOT NULL,
    at double precision NOT NULL,
    job text NOT NULL
);

CREATE INDEX rate_start_at ON fairlane.rate_start (at);

CREATE TABLE fairlane.stage_grant (
    job text COLLATE "C" NOT NULL,
    token text COLLATE "C" NOT NULL,
    uses text NOT NULL,
    PRIMARY KEY (job, token)
);

CREATE TABLE fairlane.lane (
    queue text COLLATE "C" NOT NULL,
    lane text COLLATE "C" NOT NULL,
    status text,
    last_job text,
    checkpoint text,
    params text,
    PRIMARY KEY (queue, lane)
) WITH (
    fillfactor = 70,
    autovacuum_vacuum_scale_factor = 0.05,
    autovacuum_vacuum_threshold = 1000
);

-- Settings, workers, schedules: documents of the leader, by name.
CREATE TABLE fairlane.record (
    kind text COLLATE "C" NOT NULL,
    name text COLLATE "C" NOT NULL,
    body text NOT NULL,
    PRIMARY KEY (kind, name)
) WITH (fillfactor = 70);

CREATE TABLE fairlane.firing (
    schedule text COLLATE "C" NOT NULL,
    fire_at double precision NOT NULL,
    job text,
    count integer NOT NULL,
    reason text,
    PRIMARY KEY (schedule, fire_at)
);

-- A number is never used again: a commit that consumes it cannot delete a later row.
CREATE TABLE fairlane.inbox (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    key text COLLATE "C" NOT NULL UNIQUE,
    body text NOT NULL,
    at double precision NOT NULL
) WITH (
    autovacuum_vacuum_scale_factor = 0,
    autovacuum_vacuum_threshold = 500,
    autovacuum_vacuum_cost_delay = 0
);

CREATE TABLE fairlane.answer (
    key text COLLATE "C" PRIMARY KEY,
    body text NOT NULL,
    at double precision NOT NULL
);

CREATE INDEX answer_at ON fairlane.answer (at);

CREATE TABLE fairlane.dead_letter (
    input text NOT NULL,
    error text NOT NULL,
    at double precision NOT NULL
);

-- Messages of the leader to a worker; the leader assigns the numbers, which only grow.
CREATE TABLE fairlane.message (
    worker text COLLATE "C" NOT NULL,
    number bigint NOT NULL,
    body text NOT NULL,
    PRIMARY KEY (worker, number)
) WITH (
    autovacuum_vacuum_scale_factor = 0,
    autovacuum_vacuum_threshold = 500,
    autovacuum_vacuum_cost_delay = 0
);

-- A worker increments its count while it is alive. Each page has room for the next version of a row,
-- so that a renewal changes no index.
CREATE TABLE fairlane.lease (
    worker text COLLATE "C" PRIMARY KEY,
    beats bigint NOT NULL,
    renewed_at timestamptz NOT NULL DEFAULT clock_timestamp()
) WITH (
    fillfactor = 20,
    autovacuum_vacuum_scale_factor = 0,
    autovacuum_vacuum_threshold = 50
);

-- One row. `swept` is the number below which events were deleted: without it, a search for the
-- oldest event would step over deleted rows that are not yet vacuumed.
CREATE TABLE fairlane.leadership (
    epoch bigint NOT NULL,
    swept bigint NOT NULL,
    leader text
);

INSERT INTO fairlane.leadership (epoch, swept) VALUES (0, 0);

-- One row for each of the newest commits. Not a counter in one row: while a session keeps a
-- transaction open, its old versions stay, and every commit would step over all of them.
CREATE TABLE fairlane.committed (
    number bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY
) WITH (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 2000);

-- The checkpoint in a report; NULL without a report, or if it is not JSON. PostgreSQL accepts no NUL
-- in a text, but JSON can contain one: such a report is read with a replacement character.
CREATE FUNCTION fairlane.checkpoint_in(report text) RETURNS text
LANGUAGE plpgsql IMMUTABLE STRICT AS $body$
BEGIN
    RETURN coalesce(nullif((report::json -> 'checkpoint')::text, 'null'), '{}');
EXCEPTION
    WHEN untranslatable_character THEN
        RETURN fairlane.checkpoint_in(
            regexp_replace(report, '(?<!\\)((\\\\)*)\\u0000', '\1\\ufffd', 'g')
        );
    WHEN invalid_text_representation THEN
        RETURN NULL;
END
$body$;
