"""Tables, numbers and times as the commands print them."""
