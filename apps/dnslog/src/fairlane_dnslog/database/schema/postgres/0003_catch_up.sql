-- A pull that ended before the watermark: the next one goes on at `catch_up_time`. All rows from
-- there to the head, the newest row of that pull, are stored.
ALTER TABLE server ADD COLUMN catch_up_time text;
ALTER TABLE server ADD COLUMN head_at_ns bigint;
ALTER TABLE server ADD COLUMN head_time text;
