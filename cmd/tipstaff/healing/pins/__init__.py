"""Committed snapshots held to live servers: checked by anybody, moved by a person only."""
