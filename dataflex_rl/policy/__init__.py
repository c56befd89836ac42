"""Mount, checks and metrics of a data policy."""
