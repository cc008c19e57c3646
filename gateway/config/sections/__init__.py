"""The settings of every room that does not bring its own. A room that comes to be takes its file along."""
