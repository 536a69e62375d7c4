"""Compresses videos, pictures and folders one at a time, and loses none."""
