"""The run record: what a run leaves on disk."""
