"""Faults for real processes: kills, bad disks and power cuts (`python -m chaos`)."""
