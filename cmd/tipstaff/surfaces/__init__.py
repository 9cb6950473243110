"""Where somebody else's program meets this one: tools of an MCP host, and what such a caller may name."""
