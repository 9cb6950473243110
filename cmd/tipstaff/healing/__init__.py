"""The use case of changes: one is proposed and judged, and a person decides where policy asks for one."""
