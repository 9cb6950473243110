"""The escape suite's side on the host: it lays traps, runs the programs under a backend, and judges what came of it."""
