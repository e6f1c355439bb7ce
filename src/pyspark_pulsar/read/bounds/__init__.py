"""What is read: topics, their schema, and from where to where in each of them. Driver only."""
