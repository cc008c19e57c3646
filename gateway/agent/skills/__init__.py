"""Skills: what the agent has learned to do, as folders of the home, and how it finds, reads and changes them."""
