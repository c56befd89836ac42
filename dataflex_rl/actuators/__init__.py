"""Actuators."""
