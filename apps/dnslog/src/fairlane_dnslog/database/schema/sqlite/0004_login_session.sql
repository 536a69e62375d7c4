-- A login; its row is deleted by the logout, so a copy of the cookie is of no use afterwards.
CREATE TABLE login_session (
    id TEXT PRIMARY KEY,
    account TEXT NOT NULL,
    began_at REAL NOT NULL
) WITHOUT ROWID;
