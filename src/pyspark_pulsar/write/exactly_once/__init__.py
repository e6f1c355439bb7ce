"""Transactions, the journal in which they are decided, and who may write to it."""
