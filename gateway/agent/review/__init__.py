"""The review: a second, narrow agent looks back over a conversation for what is worth keeping."""
