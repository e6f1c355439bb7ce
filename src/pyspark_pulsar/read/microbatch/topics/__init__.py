"""Topics of a running stream: discovery, deletion, and their schemas. Driver only."""
