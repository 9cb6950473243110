"""The MCP server over HTTP: on loopback, for bearers of tokens, and for no browser."""
