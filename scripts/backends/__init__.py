"""Back ends of systems: what sends a prompt and images to a model, and what comes back; one module a kind."""
