"""The courses by their names, in the order they are run."""

from benchmarks.courses import followers, postgres, sqlite

COURSES = {one.name: one for one in (sqlite.COURSE, postgres.COURSE, followers.COURSE)}
