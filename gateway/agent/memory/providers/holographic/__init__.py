"""Facts in a file of the home: nothing leaves this machine, and everything works without a network.

The reference adds a third figure to the score, the likeness of vectors that are made from the hashes of the words. It
grows with the words that two texts share, as the other two figures do, and comparing it costs a thousand cosines per
fact, so it is left out. What the reference does where numpy is missing is what we always do.
"""

from gateway.agent.memory.providers.holographic.provider import Holographic, create

__all__ = ["Holographic", "create"]
