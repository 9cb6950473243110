"""Observing a live MCP server: what it advertises now, and what it did and tried meanwhile."""
