-- A result is stored whole, as JSON; the other columns are those of lists.
CREATE TABLE result (
    id TEXT PRIMARY KEY,
    created_at REAL NOT NULL,    -- seconds since 1970
    input TEXT NOT NULL,
    platform TEXT NOT NULL,
    title TEXT NOT NULL,
    seconds REAL,
    language TEXT,
    media_path TEXT,
    lines INTEGER NOT NULL CHECK (lines >= 0),
    body TEXT NOT NULL
) WITHOUT ROWID;
CREATE INDEX result_by_time ON result (created_at, id);

-- The passages that a search finds. An id is never used twice, so a cursor keeps its place. The
-- passages of a result are inserted from the last to the first: the order of a search, which is
-- descending, is then that of time within a result.
CREATE TABLE passage (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    result_id TEXT NOT NULL REFERENCES result (id) ON DELETE CASCADE,
    lines TEXT NOT NULL          -- their indexes, times and texts, as JSON
);
CREATE INDEX passage_by_result ON passage (result_id);

-- The words of each passage, by its id. Our own tokenizer separates them by spaces, and that of
-- SQLite only splits at the spaces: `ascii` treats all characters beyond ASCII as letters.
CREATE VIRTUAL TABLE passage_words USING fts5 (
    words, content = '', contentless_delete = 1, tokenize = 'ascii'
);
