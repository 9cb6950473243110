"""bubblewrap: its arguments, its report of a run, and the backend."""
