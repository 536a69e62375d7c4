"""The composition root of one process: leader, worker, membership, event feed."""
