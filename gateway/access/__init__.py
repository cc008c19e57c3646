"""Who may talk with the agent, and as what."""
