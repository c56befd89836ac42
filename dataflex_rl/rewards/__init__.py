"""Verifiers in verl's compute_score signature."""
