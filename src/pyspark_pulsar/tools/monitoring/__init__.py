"""Monitoring of running queries, with their lag, their metrics, and the end of bounded queries."""
