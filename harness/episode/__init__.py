"""One episode: what the journal holds of it, decide, act, close, score."""
