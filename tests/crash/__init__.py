"""Processes of the gateway killed at the worst moments, and what people see of it: every answer, in order, once."""
