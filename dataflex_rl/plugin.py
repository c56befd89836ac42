"""Register with verl."""
