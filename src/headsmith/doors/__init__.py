"""Ways in: what a user has, a formula, a function, a module or a file of weights, becomes a target."""
