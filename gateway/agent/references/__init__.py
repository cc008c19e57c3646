"""What a message refers to by ``@file:``, ``@folder:``, ``@diff``, ``@staged``, ``@git:`` and ``@url:``, for the model.

The forms, the headings and the limits (half of the window refuses, a quarter warns) are the reference's.
"""
