"""What one can plug in. Contracts only: no code beyond defaults."""
