"""Monitoring of running queries: lag, metrics, and a listener that stops bounded queries at their ends."""
