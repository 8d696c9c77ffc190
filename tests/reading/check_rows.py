"""Tables by the buffer protocol, and as arrays of numpy: check_tables.py RECORDING [numpy].

With `numpy` it needs numpy; without, memoryview alone.
"""
import collections
import struct
import sys

import gpuprof

failures = []


def expect(what, is_so):
    if not is_so:
        failures.append(what)


with gpuprof.open(sys.argv[1]) as r:
    rows, live, points, steps = r.events(), r.live("peak").rows, r.curves(), r.steps().rows
    kinds = r.info.kept
for table, size in ((rows, 72), (live, 88), (points, 48), (steps, 32)):
    view = memoryview(table)
    expect("the bytes of a %s" % type(table[0]).__name__, view.nbytes == size * len(table) and view.itemsize == size)
view = memoryview(rows).cast("B")
order = [struct.unpack_from("<qQ", view, 72 * k) for k in range(len(rows))]
expect("moments and orders", order == [(row.at_ns, row.order) for row in rows])
expect("fields", gpuprof.fields("alloc") == ("flags", ("address", "bytes", "stream", "owner")))

if "numpy" in sys.argv:
    import numpy
    for table in (rows, live, points, steps):
        array = numpy.asarray(table)
        names = [field[0] for field in table._type_._fields_]
        expect("names of a %s" % table._type_.__name__, list(array.dtype.names) == names)
        for name in names:
            expect("column " + name, array[name].tolist() == [
                value if isinstance(value, int) else list(value) for value in (getattr(row, name) for row in table)])
    array = numpy.asarray(rows)
    expect("no copy", numpy.shares_memory(array, numpy.asarray(rows)))
    found = dict(zip(*(part.tolist() for part in numpy.unique(array["kind"], return_counts=True))))
    expect("kinds", found == {gpuprof.KINDS[name]: count for name, count in kinds.items()})
else:
    found = collections.Counter(row.kind for row in rows)
    expect("kinds", found == {gpuprof.KINDS[name]: count for name, count in kinds.items()})
for failure in failures:
    print("failed: " + failure)
sys.exit(bool(failures))
