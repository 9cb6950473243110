"""nsjail: its configuration, its folders on the host, and the backend."""
