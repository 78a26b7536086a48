"""What can be known without training: losses in closed form, exact risks, the flow of the gradient."""
