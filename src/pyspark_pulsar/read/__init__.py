"""The read path in the order of a query: discovery, bounds, plan, reading from locations, decoding to Arrow."""
