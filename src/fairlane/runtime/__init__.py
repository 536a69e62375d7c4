"""The services of one process that know nothing of jobs: clock, service loop, threads, counters."""
