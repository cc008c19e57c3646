"""Takes lanes off the bus and turns them into replies, one turn per session at a time."""

from gateway.turns.turns import TurnRooms, Turns, TurnSettings

__all__ = ["TurnRooms", "TurnSettings", "Turns"]
