"""Universal Approximation with Softmax Attention: its figures, trained and constructed side by side, and its errata."""
