"""Operating-system processes: groups that can be killed, a launcher, reusable children."""
