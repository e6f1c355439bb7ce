"""Monitoring of a program's running queries: their lag, their metrics, and whether they have read all."""
