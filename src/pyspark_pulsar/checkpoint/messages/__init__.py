"""Messages of a checkpoint's two topics: where they lie, writing them, reading them."""
