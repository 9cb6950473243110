"""The policy decision point: OPA's program, signed bundles, the sidecar that runs them, and one client."""
