"""The courses by their names, in the order they are run."""

from benchmarks.courses import compressor, followers, postgres, sqlite

COURSES = {
    one.name: one for one in (sqlite.COURSE, postgres.COURSE, followers.COURSE, compressor.COURSE)
}
