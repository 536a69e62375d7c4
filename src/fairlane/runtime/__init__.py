"""Parts of a process that are independent of jobs: clock, service loop, threads, counters."""
