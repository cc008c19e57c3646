"""Measures of the gateway: each a figure that a person feels, taken from outside, printed as one line of JSON."""
