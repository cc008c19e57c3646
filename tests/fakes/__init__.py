"""Other people's services as we need them in tests: each a process of its own, each able to fail on demand."""
