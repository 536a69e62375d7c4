-- A result is stored whole, as JSON; the other columns are those of lists.
CREATE TABLE extractor.result (
    id text COLLATE "C" PRIMARY KEY,
    created_at double precision NOT NULL, -- seconds since 1970
    input text NOT NULL,
    platform text NOT NULL,
    title text NOT NULL,
    seconds double precision,
    language text,
    media_path text,
    lines integer NOT NULL CHECK (lines >= 0),
    body text NOT NULL
);
CREATE INDEX result_by_time ON extractor.result (created_at, id);

-- The passages that a search finds. An id is never used twice, so a cursor keeps its place. The
-- passages of a result are inserted from the last to the first: the order of a search, which is
-- descending, is then that of time within a result.
CREATE TABLE extractor.passage (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    result_id text COLLATE "C" NOT NULL REFERENCES extractor.result (id) ON DELETE CASCADE,
    lines text NOT NULL,         -- their indexes, times and texts, as JSON
    words tsvector NOT NULL      -- written by our own tokenizer, with positions
);
CREATE INDEX passage_by_result ON extractor.passage (result_id);
-- Without a list of pending entries a search never waits for its merge.
CREATE INDEX passage_words ON extractor.passage USING gin (words) WITH (fastupdate = off);
