"""Terms of the proofs, dropped or halved one at a time: some test must die of each.

    make mutants                                  all of them; prints the survivors and fails if there are any
    .venv/bin/python -m tests.mutants scalar      those of one area

Each file of this folder lists the mutants of an area: what is dropped, where, and which tests must notice.
"""
