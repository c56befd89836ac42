"""Mixers."""
