"""Which cases fail: the shortest condition over attributes that holds of all that do and of none that pass.

`table` has the attributes of all sites of a kind as arrays, `atoms` what can be said of one site, `search` joins what
was said, `neighbours` makes cases beside a finding, and `learner` decides which cases to run next. Attributes and
conditions are those of `cts.features`, so that what is learnt is an entry of a baseline as it stands.
"""
