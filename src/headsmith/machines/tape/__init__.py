"""The tape: one frozen block that runs everything from prompts, pass by pass."""
