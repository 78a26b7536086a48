"""Universal Approximation with Softmax Attention (softmax-universality): its figures, trained and constructed side by side, and its errata."""
