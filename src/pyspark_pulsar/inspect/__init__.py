"""Segments, plans and audits as rows and tables for users."""
