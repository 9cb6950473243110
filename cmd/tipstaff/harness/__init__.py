"""Governed modifications: a harness's change of itself is gated, proven, approved and measured, and never applied."""
