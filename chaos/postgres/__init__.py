"""Faults where many processes work on one PostgreSQL server."""
