"""What is written down of the work: settings, redaction, context, and the handlers that put it all together.

`gateway.log.setup` imports structlog, which takes its time; nothing else here does.
"""
