"""The revisions; a file's name is its revision id, and names sort in the order they run."""
