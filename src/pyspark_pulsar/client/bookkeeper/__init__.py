"""Reading ledgers from bookies: which of them hold an entry, asking them, and going on to the next one."""
