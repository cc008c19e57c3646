"""What projects and owners write for the agent, for its prompt: AGENTS.md and its like in the workspace, SOUL.md."""
