"""Everything around the game: protocol, clocks, tournaments, store, command line."""
