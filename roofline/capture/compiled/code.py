"""Code that torch.compile made: timed with no mode active, counted from its graph.

A dispatch mode would see only what compiled code calls outside itself and take it for the whole.
So the graph is read when it is handed to a backend, and the time of a region is that of one call of
what the backend gave back.  What Dynamo leaves to Python between graphs runs, and is recorded,
operator by operator.
"""

import os
import resource
from collections.abc import Callable, Sequence
from time import perf_counter_ns
from types import ModuleType
from typing import Any

import torch

from roofline.capture.book import Book
from roofline.capture.calls.signature import tensors
from roofline.capture.columns import REGION
from roofline.capture.compiled.graph import Graph
from roofline.capture.mode import Mode
from roofline.capture.modules import Modules
from roofline.capture.patches import Patches
from roofline.runfile import Gap, Signature
from roofline.units import number_of

_UNSEEN = "compiled code without a graph"
_COMPILERS = {
    "fw_compiler": "forward",
    "inference_compiler": "forward",
    "bw_compiler": "backward",
}
_TORCH = os.path.dirname(torch.__file__) + os.sep
_INDUCTOR = "CompiledFxGraph"  # the class of what inductor makes of a graph


class Regions:
    """Watches torch.compile for one recording."""

    def __init__(self, mode: Mode, book: Book, modules: Modules):
        self._mode = mode
        self._modules = modules
        self._book = book
        self._function = "a function"  # whose graph is being compiled
        self._graphs = 0
        self._taken_apart = 0  # graphs that went through AOTAutograd
        self._of_code: dict[int, tuple[Any, Region]] = {}  # by id of inductor's compiled graph
        self._running = False
        self._unseen = 0
        self._unseen_ns = 0
        self.compiling_ns = 0
        self._patches = Patches({
            "torch._dynamo.output_graph": self._watch_dynamo,
            "torch._dynamo.backends.common": self._watch_aot,
            "torch._inductor.output_code": self._watch_inductor,
        })  # fmt: skip

    def install(self) -> None:
        """Begin to watch; costs nothing until torch.compile is used."""
        self._patches.install()

    def remove(self) -> None:
        """Put things back as they were; code compiled meanwhile runs on unrecorded."""
        self._patches.remove()

    def gaps(self) -> tuple[Gap, ...]:
        """Regions whose graph was not seen."""
        if not self._unseen:
            return ()
        what = (
            "compiled regions were timed but not counted: they were compiled before the recording "
            "began, or by a backend that does not show its graph"
        )
        return (Gap(name=_UNSEEN, what=what, seconds=self._unseen_ns * 1e-9, count=self._unseen),)

    def warnings(self) -> tuple[str, ...]:
        """What compiling cost."""
        if not self._graphs:
            return ()
        seconds = self.compiling_ns * 1e-9
        graphs = number_of(self._graphs, "graph")
        return (f"torch.compile compiled {graphs} in {seconds:.1f} s meanwhile",)

    def run(self, region: "Region", args: Any) -> Any:
        """Call a region with the list `args` and record it."""
        mode = self._mode
        if not mode.on or self._running:  # a region within one is part of it
            return region.work(args)
        entered = perf_counter_ns()
        if cards := [t.device.index for t in tensors(args) if t.is_cuda]:
            mode.on_device(cards[0])
        signature = region.signature(self._book, args)
        reads = mode.numbers(tensors(args))  # before: compiled code empties the list
        self._running = True
        try:
            with mode.paused():
                faults = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
                start = perf_counter_ns()
                result = region.work(args)
                end = perf_counter_ns()
                faults = resource.getrusage(resource.RUSAGE_SELF).ru_minflt - faults
        finally:
            self._running = False
        made = tensors(result) if isinstance(result, (list, tuple)) else tensors([result])
        mode.append(signature, start, end - start, faults, reads, made, REGION)
        if region.graph is None:
            self._unseen += 1
            self._unseen_ns += end - start
        mode.bookkeeping += perf_counter_ns() - entered - (end - start)
        return result

    def _watch_dynamo(self, module: ModuleType) -> None:
        """See every graph that Dynamo hands to a backend, and what it gets back."""
        original = module.OutputGraph.call_user_compiler

        def call_user_compiler(output: Any, graph: Any, *rest: Any) -> Any:
            code = output.root_tx.f_code
            # PyTorch's own wrappers say nothing; what they wrap is the running module.
            wrapper = code.co_filename.startswith(_TORCH)
            self._function = (wrapper and self._modules.path) or code.co_qualname
            self._graphs += 1
            before, start = self._taken_apart, perf_counter_ns()
            try:
                made = original(output, graph, *rest)
            finally:
                self.compiling_ns += perf_counter_ns() - start
            if self._taken_apart > before or made is graph or made == graph.forward:
                return made  # its parts are watched; or nothing was compiled (backend "eager")
            region = Region(self, self._name("graph"), None, lambda args: made(*args))
            return torch._dynamo.disable(lambda *args: region(list(args)))

        self._patches.replace(module.OutputGraph, "call_user_compiler", call_user_compiler)

    def _watch_aot(self, module: ModuleType) -> None:
        """See the forward and the backward graph of every backend built on AOTAutograd."""
        original = module.aot_module_simplified

        def aot_module_simplified(graph: Any, inputs: Any, **options: Any) -> Any:
            self._taken_apart += 1
            for option, pass_ in _COMPILERS.items():
                if options.get(option) is not None:
                    options[option] = self._compiler(options[option], pass_)
            return original(graph, inputs, **options)

        self._patches.replace(module, "aot_module_simplified", aot_module_simplified)

    def _compiler(self, compiler: Callable[..., Any], pass_: str) -> Callable[..., Any]:
        # A plain function where AOTAutograd may expect one that it can cache: so it does not take
        # compiled code from its cache, and the graph comes by here every time.
        name = self._name(pass_)

        def compile_graph(module: Any, inputs: Any, **options: Any) -> Any:
            start = perf_counter_ns()
            with self._mode.paused():
                graph = Graph(module)
                work = compiler(module, inputs, **options)
            if pass_ == "backward":  # compiled on its first call; the others within Dynamo's time
                self.compiling_ns += perf_counter_ns() - start
            boxed = work if getattr(work, "_boxed_call", False) else lambda args: work(*args)
            region = Region(self, name, graph, boxed)
            if type(work).__name__ == _INDUCTOR:
                self._of_code[id(work)] = (work, region)  # called through its class, see below
                return work
            return region

        return compile_graph

    def _watch_inductor(self, module: ModuleType) -> None:
        """Time inductor's code where it is called, so that code compiled before is seen as well."""
        owner = getattr(module, _INDUCTOR)
        original = owner.__call__
        regions = self

        def __call__(code: Any, inputs: Any) -> Any:
            _, region = regions._of_code.get(id(code), (None, None))
            if region is None:
                region = Region(regions, _UNSEEN, None, lambda args: original(code, args))
                regions._of_code[id(code)] = (code, region)
            elif region.work is code:
                region.work = lambda args: original(code, args)
            return regions.run(region, inputs)

        self._patches.replace(owner, "__call__", __call__)

    def _name(self, pass_: str) -> str:
        return f"compiled {self._function} #{self._graphs} ({pass_})"


class Region:
    """One compiled graph: called as what the backend made, recorded on the way."""

    _boxed_call = True  # takes one list, which it may empty

    def __init__(
        self, regions: Regions, name: str, graph: Graph | None, work: Callable[[Any], Any]
    ):
        self.graph = graph
        self.work = work
        self._regions = regions
        self._name = name
        self._known: dict[tuple[Any, ...], int] = {}

    def __call__(self, args: Any) -> Any:
        """Run and record."""
        return self._regions.run(self, args)

    def signature(self, book: Book, args: Sequence[Any]) -> int:
        """The number of a call with `args`: one for all, unless sizes in the graph are symbols."""
        if self.graph is None:
            return book.named(self._name)
        try:
            key = self.graph.symbols(args)
            if key not in self._known:
                ledger = self.graph.ledger(book.account, args)
                self._known[key] = book.add(Signature(name=self._name, ledger=ledger))
        except Exception as error:  # a graph nobody thought of must not end the program
            book.broken[self._name] = f"{type(error).__name__}: {error}"
            self.graph = None
            return book.named(self._name)
        return self._known[key]
