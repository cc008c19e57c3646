"""One package per chat platform; none knows another, all know only the contract."""
