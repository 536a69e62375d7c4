-- The query log. `qh` is the domain and `ip` the digest that makes a row unique: these two names
-- are older than this program. Every index ends with the time, so that a page is read in its order.
CREATE TABLE query_log (
    id INTEGER PRIMARY KEY,
    server TEXT NOT NULL,
    time TEXT NOT NULL,          -- AdGuard's text, with all its digits
    at_ns INTEGER NOT NULL,      -- the same instant
    qh TEXT NOT NULL,
    ip BLOB NOT NULL CHECK (length(ip) = 16),
    client TEXT NOT NULL,
    client_name TEXT NOT NULL,
    qtype TEXT NOT NULL,
    status TEXT NOT NULL,
    reason TEXT NOT NULL,
    blocked INTEGER NOT NULL CHECK (blocked IN (0, 1)),
    rule TEXT NOT NULL,
    service TEXT NOT NULL,
    upstream TEXT NOT NULL,
    elapsed_us INTEGER NOT NULL,
    cached INTEGER NOT NULL CHECK (cached IN (0, 1))
);
CREATE UNIQUE INDEX query_log_digest ON query_log (ip);
CREATE INDEX query_log_time ON query_log (at_ns, id);
CREATE INDEX query_log_domain ON query_log (qh, at_ns, id);
CREATE INDEX query_log_client ON query_log (client, at_ns, id);
CREATE INDEX query_log_qtype ON query_log (qtype, at_ns, id);
CREATE INDEX query_log_blocked ON query_log (blocked, at_ns, id);
CREATE INDEX query_log_server ON query_log (server, at_ns, id);

-- Catalogues of the domains and clients in the log: `queries` is the exact number of their rows.
CREATE TABLE domain (
    name TEXT PRIMARY KEY,
    last_at_ns INTEGER NOT NULL,
    queries INTEGER NOT NULL
) WITHOUT ROWID;
CREATE TABLE client (
    name TEXT PRIMARY KEY,
    label TEXT NOT NULL,
    last_at_ns INTEGER NOT NULL,
    queries INTEGER NOT NULL
) WITHOUT ROWID;

CREATE TABLE rollup (
    grain TEXT NOT NULL CHECK (grain IN ('minute', 'hour', 'day', 'month')),
    start INTEGER NOT NULL,      -- epoch seconds; days and months are those of UTC
    server TEXT NOT NULL,
    kind TEXT NOT NULL CHECK (kind IN ('total', 'domain', 'client', 'upstream')),
    key TEXT NOT NULL,
    queries INTEGER NOT NULL,
    blocked INTEGER NOT NULL,
    elapsed_us INTEGER NOT NULL, -- the sum over the answered queries
    answered INTEGER NOT NULL,   -- by an upstream, neither blocked nor from the cache
    PRIMARY KEY (grain, kind, start, server, key)
) WITHOUT ROWID;

CREATE TABLE server (
    name TEXT PRIMARY KEY,
    watermark_at_ns INTEGER,
    watermark_time TEXT,
    deep_at_ns INTEGER,
    paused_reason TEXT
) WITHOUT ROWID;
CREATE TABLE pull (
    id INTEGER PRIMARY KEY,
    server TEXT NOT NULL,
    job TEXT,
    started_at REAL NOT NULL,
    seconds REAL NOT NULL DEFAULT 0,
    pages INTEGER NOT NULL DEFAULT 0,
    seen INTEGER NOT NULL DEFAULT 0,
    stored INTEGER NOT NULL DEFAULT 0,
    state TEXT NOT NULL,
    error_code TEXT,
    error TEXT
);
CREATE INDEX pull_server ON pull (server, id);
CREATE TABLE gap (
    id INTEGER PRIMARY KEY,
    server TEXT NOT NULL,
    from_ns INTEGER NOT NULL,
    to_ns INTEGER NOT NULL,
    found_at REAL NOT NULL,
    reason TEXT NOT NULL,
    UNIQUE (server, from_ns),
    CHECK (from_ns <= to_ns)
);

CREATE TABLE rule (
    id INTEGER PRIMARY KEY AUTOINCREMENT, -- the audit log names deleted rules
    name TEXT NOT NULL,
    enabled INTEGER NOT NULL DEFAULT 1 CHECK (enabled IN (0, 1)),
    kind TEXT NOT NULL,
    servers TEXT NOT NULL DEFAULT '[]',
    detail TEXT NOT NULL DEFAULT '{}',
    "window" TEXT NOT NULL DEFAULT '{}',
    updated_at REAL NOT NULL DEFAULT (unixepoch('subsec')),
    updated_by TEXT NOT NULL DEFAULT ''
);
CREATE TABLE rules_version (version INTEGER NOT NULL);
INSERT INTO rules_version VALUES (0);
CREATE TRIGGER rule_inserted AFTER INSERT ON rule BEGIN
    UPDATE rules_version SET version = version + 1;
END;
CREATE TRIGGER rule_updated AFTER UPDATE ON rule BEGIN
    UPDATE rules_version SET version = version + 1;
END;
CREATE TRIGGER rule_deleted AFTER DELETE ON rule BEGIN
    UPDATE rules_version SET version = version + 1;
END;
CREATE TABLE applied (
    server TEXT PRIMARY KEY,
    version INTEGER NOT NULL,
    applied_at REAL NOT NULL,
    block TEXT,
    protection_until REAL,
    detail TEXT,
    error TEXT
) WITHOUT ROWID;
CREATE TABLE process_rules (
    process TEXT PRIMARY KEY,
    version INTEGER NOT NULL,
    loaded_at REAL NOT NULL
) WITHOUT ROWID;
CREATE TABLE audit (
    id INTEGER PRIMARY KEY,
    at REAL NOT NULL,
    actor TEXT NOT NULL,
    action TEXT NOT NULL,
    subject TEXT NOT NULL,
    detail TEXT NOT NULL DEFAULT ''
);
CREATE INDEX audit_time ON audit (at);

CREATE TABLE account (
    name TEXT PRIMARY KEY,
    password_hash TEXT NOT NULL,
    role TEXT NOT NULL
) WITHOUT ROWID;
CREATE TABLE login_attempt (
    id INTEGER PRIMARY KEY,
    at REAL NOT NULL,
    address TEXT NOT NULL,
    name TEXT NOT NULL,
    succeeded INTEGER NOT NULL DEFAULT 0 CHECK (succeeded IN (0, 1))
);
CREATE INDEX login_attempt_address ON login_attempt (address, at);
CREATE INDEX login_attempt_name ON login_attempt (name, at);
CREATE TABLE secret (
    name TEXT PRIMARY KEY,
    value TEXT NOT NULL
) WITHOUT ROWID;
