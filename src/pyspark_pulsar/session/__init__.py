"""Spark sessions with Pulsar: their settings, tiering, and the history of topics joined with live messages."""
