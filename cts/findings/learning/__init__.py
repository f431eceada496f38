"""Learn which cases fail: the shortest condition over attributes that holds of all failing and of no passing cases.

`table` has the attributes of all sites of a kind as arrays, `atoms` has conditions on one site, `search` joins them,
`neighbours` makes cases similar to a finding, and `learner` decides which cases to run next. Attributes and conditions
are those of `cts.features`, so a learnt condition can go into a baseline unchanged.
"""
