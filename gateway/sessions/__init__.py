"""Who talks with the agent, what was said, and which conversations are live."""
