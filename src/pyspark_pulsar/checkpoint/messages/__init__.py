"""Positions, writers and readers for the messages of a checkpoint's two topics."""
