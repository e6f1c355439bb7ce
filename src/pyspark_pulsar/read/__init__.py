"""The read path in the order of a query: discovery, bounds, plan, location readers, Arrow."""
