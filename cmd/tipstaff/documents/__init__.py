"""The documents that cross a boundary, as pydantic models; ``contracts/`` holds their JSON Schemas."""
