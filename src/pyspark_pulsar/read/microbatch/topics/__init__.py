"""The topics of a running stream: how they are found, how their deletion is detected, and their schemas.

Driver only.
"""
