"""Reading ledgers from bookies: which of them hold an entry, requests to them, and other bookies where one fails."""
