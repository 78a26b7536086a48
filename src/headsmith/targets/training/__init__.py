"""Training inside the forward pass: what is claimed, how a prompt is read and run (`hs.target.Training`)."""
