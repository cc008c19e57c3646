"""What a person does and sees, over the whole gateway."""
