"""Messages of a checkpoint's two topics: positions, writing, reading."""
