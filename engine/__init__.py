"""The game of Kratzen as a state machine driven from outside.

Nothing in this package reads a clock, a file, a socket or a random generator: a caller
hands in a seed and the answers, and is told what happened. Reading order: `cards`,
`rules`, `actions`, `events`, `pack`, `trick`, `pot`, `deal`, `view`, `session`; then
`imagine`, `fallback` and `notation`.
"""
