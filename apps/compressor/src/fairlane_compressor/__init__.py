"""Compresses videos, pictures and folders in a durable queue."""
