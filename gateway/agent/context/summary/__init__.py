"""What stands for messages that were compressed: written by a model, or without one; checked, and signed over."""
