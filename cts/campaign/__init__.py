"""Campaigns: drawn cases by the ten thousand, in many processes on one or many machines; see docs/campaigns.md.

`settings` says what a campaign is, `chunks` what is done at a time and what comes of it. `worker` does a chunk, in a
process that `local` or `on_dask` has. `planning` says which chunk is next, `totals` adds up what came back, `folder`
keeps it, `running` is the loop of it all, and `table` and `page` show it.
"""
