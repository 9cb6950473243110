"""Replacing a marked block of a skill's prose by a script, where measurements show that it may be."""
