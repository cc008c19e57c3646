"""The web chat: an adapter of ours, and the page at its other end."""
