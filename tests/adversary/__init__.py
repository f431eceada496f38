"""An adversary that plays the compiler: random expressions, and what a compiler may make of each.

`expressions` draws them, `cases` writes them as cases, `rules` rewrites them as the float controls of the case allow,
`arithmetic` evaluates what comes of it with NumPy alone, `judging` asks the oracle. None of it knows how that computes.
"""
