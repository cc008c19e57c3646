"""What the model sees of a long conversation: kept inside its window, with nothing lost from the rows."""
