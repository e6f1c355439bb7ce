"""What a program learns of its running queries: how far behind they are, and when they have read all."""
