"""The embedded model and task."""
