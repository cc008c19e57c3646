"""The mind: asks the model, runs its tools, keeps the conversation. Knows no chat, no bus and no web."""
