"""Writing: Arrow, kernel, router (in the kernel), producers, receipts, commit."""
