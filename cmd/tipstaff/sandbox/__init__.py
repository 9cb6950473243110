"""Running what nobody trusts: backends behind one Protocol, and a probe that sees what really holds."""
