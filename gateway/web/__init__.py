"""The one HTTP server: the web chat, what platforms call, and what an operator's machines ask."""
