"""What those who write policy need: checks, mutants, verdict diffs and templates."""
