"""The system prompt of a session: sections, each of which knows where it comes from and how much room it may take.

In: a home, a chat, a model and its tools, as they are when a conversation begins. Out: a text that is stored and the
same to the byte on every request from then on, with an outline of it; and the facts of a single turn, which go beside
the user's message and never into the prompt.
"""
