"""From a typed function to a tool a model may call, and the wrappers over sets of tools.

In: functions with a docstring (`function`), the JSON text a model wrote (`arguments`, `repair`). Out: `Tools`
(`toolset`), bounded (`limits`) and narrowed to what a role may use. What a tool does is none of this room's
business; rights, approval and audit reach it as callables.
"""
