"""Durable state of a project: the audit trail, its checkpoints, approvals, changes and the pause switch.

``trail`` and ``pause`` are cheap to import. ``database``, ``approvals`` and ``changes`` load SQLAlchemy; import them
where they are used.
"""
