"""Placement: the choice of a location for each range of a plan. Driver only."""
