"""Reading ledgers directly from bookies: finding the bookies of an entry, requests, and fallback to other bookies."""
