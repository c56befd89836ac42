"""Paired-seed analysis of run records."""
