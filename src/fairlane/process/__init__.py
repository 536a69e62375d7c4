"""Operating-system processes: groups that can be killed, a supervisor, reusable children."""
