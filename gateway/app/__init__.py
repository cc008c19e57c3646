"""The composition root: two URLs and a role decide what a process is. `main` runs it."""
