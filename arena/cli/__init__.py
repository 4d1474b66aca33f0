"""The command `kratzen`: reads arguments, builds the concrete parts, prints."""
