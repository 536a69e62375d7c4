"""The races by name, in the order in which they run."""

from benchmarks.races import compressor, extractor, followers, postgres, sqlite

RACES = {
    one.name: one
    for one in (
        sqlite.COURSE, postgres.COURSE, followers.COURSE, compressor.COURSE, extractor.COURSE,
    )
}  # fmt: skip
