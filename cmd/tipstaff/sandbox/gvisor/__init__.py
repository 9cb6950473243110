"""gVisor: its program, OCI bundle and control socket, and the backend."""
