"""Search over everything that was said: the language of queries, the scope of who asks, the index, the ranking."""
