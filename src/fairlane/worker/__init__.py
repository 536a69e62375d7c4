"""The part of a process that runs jobs and reports their outcomes."""
