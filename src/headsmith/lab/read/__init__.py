"""What a layer has learned: its mechanism, its diagnosis, and how it compares with what is written down."""
