"""The part of a process that decides and commits, while this process leads."""
