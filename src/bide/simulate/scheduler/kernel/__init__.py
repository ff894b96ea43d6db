"""The scheduler as a numba kernel: arrays and floats in, arrays out; the same decisions as the readable reference.

It shares no code with the reference. All that changes lives in three flat arrays, `ints`, `blocks`
and `times`, so that compiled functions pass few arguments (compiling is quick), a run can stop
anywhere and go on, and many replicas are three rows each. Things are named by the address of their
row: `ints[slot + COMPUTED]`. `fields` lists the rows and their fields, `layout` makes the arrays,
`run.advance` is the entry.
"""
