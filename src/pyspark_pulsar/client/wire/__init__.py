"""Messages of Pulsar's and BookKeeper's binary protocols, generated from the `.proto` files in this folder."""
