"""From a task to trained heads: prompts, the layer, one hand-made step, recipes, runs and sweeps."""
