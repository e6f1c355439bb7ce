"""What a user looks at: segments, plans and audits, as rows and tables."""
