"""Which memory the calls of a chain read and wrote: as recorded, or followed by size.

A profiler trace names shapes but no memory.  There a tensor is taken to be the latest result of
the same number of bytes, and one that no result fits comes from outside, the same one each time.
That is a guess, good for runs of neighbouring operators and labelled wherever it is used: what it
says enters and leaves them is the least that can.

What is given as ``out=`` is an argument that is written and not read.
"""

from collections import Counter
from collections.abc import Iterator, Sequence

from roofline.call import Tensor
from roofline.device import DRAM
from roofline.program.boundary.residency import read
from roofline.runfile import Signature

Memory = tuple[Sequence[tuple[int, int]], Sequence[tuple[int, int]]]  # reads, writes: (storage, B)
FOLLOWED = 64  # B: a scalar's size, below this, fits everything and follows nothing


def by_storage(signature: Signature, reads: Sequence[int], writes: Sequence[int]) -> Memory:
    """As the recorder saw it; nothing where it saw nothing."""
    call = signature.call
    if call is None or len(reads) != len(call.tensors) or len(writes) != len(call.outputs):
        return (), ()
    return (
        [*zip(read(call, reads, writes), (t.nbytes for t in call.tensors), strict=False)],
        [(at, tensor.nbytes) for at, tensor in zip(writes, call.outputs, strict=True)],
    )


def by_size(signatures: Sequence[Signature]) -> Iterator[Memory]:
    """Neighbouring calls in order: storages above 0 are results, below 0 they are from outside."""
    latest: dict[int, int] = {}
    outside: dict[tuple[int, int], int] = {}
    results = 0
    for signature in signatures:
        tensors = signature.call.tensors if signature.call else ()
        # A gradient is no tensor of the forward pass: of a backward, operands of one size differ.
        apart = signature.name.endswith("_backward")
        turns: Counter[int] = Counter()
        reads = []
        for size in (tensor.nbytes for tensor in read_by_size(signature, tensors)):
            if size >= FOLLOWED:
                turn = turns[size] if apart else 0
                made = latest.get(size) if not turn else None
                new = -len(outside) - 1
                reads.append((made or outside.setdefault((size, turn), new), size))
                turns[size] += 1
        written = [size for size in written_by_size(signature) if size >= FOLLOWED]
        writes = [(results + at, size) for at, size in enumerate(written, start=1)]
        results += len(writes)
        latest |= {size: at for at, size in writes}
        yield reads, writes


def read_by_size(signature: Signature, tensors: Sequence[Tensor]) -> Sequence[Tensor]:
    """`tensors` without a last one, such as ``out=``, that no line of the ledger reads."""
    ledger = signature.ledger
    if ledger is None or ledger.unaccounted or len(tensors) < 2 or signature.name.endswith("_"):
        return tensors
    last = tensors[-1].nbytes
    lines = sum(e.access == "read" and e.amount == last for e in ledger.entries)
    given = sum(tensor.nbytes == last for tensor in tensors)
    return tensors[:-1] if lines < given else tensors


def written_by_size(signature: Signature) -> Iterator[int]:
    """Bytes of each result, from its own line of the ledger."""
    for entry in signature.ledger.entries if signature.ledger else ():
        if entry.resource == DRAM and entry.access == "write":
            yield entry.amount
