"""hermes-gateway: messages come in from chat platforms, an agent answers, nothing is lost."""
