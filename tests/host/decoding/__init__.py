"""Tests of the generation engine."""
