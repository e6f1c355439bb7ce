"""Rows and tables for users that describe segments, plans and audits of reads."""
