"""What runs: the leader loop, workers, attempts, the context a task sees."""
