"""The transformer that trains: its stream, the blocks of a step, what activations and optimizers store."""
