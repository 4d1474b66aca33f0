"""Four players of rising strength, to play against and to learn from.

Read them in this order: `random_bot` (with `basics`), `cautious_bot` (with `judgement`),
`counting_bot` (with `memory`), `sampling_bot` (with `worlds`). Each runs by itself, as in
`python -m sample_bots.random_bot`, with `KRATZEN_ADDRESS` and `KRATZEN_TOKEN` in the
environment. They know the bot SDK and the engine, never the arena. `faulty` has bots that play badly on
purpose.
"""
