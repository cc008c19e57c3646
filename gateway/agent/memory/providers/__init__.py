"""The memory services we bring: a module each, loaded only when it is chosen.

A module is named as its provider is and has ``create(given: Given) -> MemoryProvider``, which touches no network and
raises `ConfigError` with one sentence where something is missing.
"""
