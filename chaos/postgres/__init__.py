"""Chaos where many processes work on one PostgreSQL: each part of it can fail, the whole cannot."""
