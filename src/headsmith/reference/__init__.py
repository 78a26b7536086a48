"""What we compare with: textbook predictors and their closed-form risks, in plain PyTorch."""
