"""What the agent keeps in mind from one conversation to the next, for each person and each group apart."""
