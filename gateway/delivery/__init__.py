"""From a reply to messages on a platform: prepared, stored, sent, and live while the agent speaks."""
