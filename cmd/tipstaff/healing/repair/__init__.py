"""Taking up the drift of a contract: the new snapshot, what depends on it, and one proposal of both."""
