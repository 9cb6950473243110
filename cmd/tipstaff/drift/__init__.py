"""MCP contracts: what changed between two snapshots of a server, as facts; what a change is worth is Rego's to say."""
