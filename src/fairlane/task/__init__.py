"""The declarations of a program's tasks, and the context that a task function sees."""
