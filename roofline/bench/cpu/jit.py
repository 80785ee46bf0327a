"""Kernels through llvmlite, for machines without a C compiler."""

import hashlib

from roofline.bench.cpu import host
from roofline.bench.cpu.kernels import Kernels, wrapped
from roofline.errors import Missing

# Machine code goes when the engine that made it does.
_ENGINES: list[object] = []


def make() -> Kernels:
    """Compile the kernels for this CPU.  Missing, with the reason, when that cannot be."""
    try:
        import llvmlite
        from llvmlite import binding
    except ImportError:
        raise Missing("llvmlite is not installed (pip install 'roofline[cpu]')") from None
    from roofline.bench.cpu import loops

    binding.initialize_native_target()
    binding.initialize_native_asmprinter()
    binding.initialize_native_asmparser()
    features, cpu = binding.get_host_cpu_features(), binding.get_host_cpu_name()
    x86 = binding.get_process_triple().startswith(("x86_64", "i686"))
    width = 64 if features.get("avx512f") else 32 if features.get("avx") else 16
    chains = 12 if x86 and width < 64 else 24  # as many as registers hold
    text = loops.text(width, chains, x86)
    machine = binding.Target.from_default_triple().create_target_machine(
        cpu=cpu, features=features.flatten(), opt=3
    )
    try:
        module = binding.parse_assembly(text)
        module.verify()
        engine = binding.create_mcjit_compiler(module, machine)
        engine.finalize_object()
    except RuntimeError as error:
        raise Missing(f"llvmlite {llvmlite.__version__} refuses the kernels: {error}") from None
    _ENGINES.append(engine)
    return wrapped(
        engine.get_function_address,
        width=width,
        instructions=host.vectors(width),
        chains=chains,
        grain=width // 4 * loops.UNROLL * loops.STREAMS,
        made_by=f"llvmlite {llvmlite.__version__} for {cpu}, {8 * width} bit vectors",
        code=hashlib.sha256(text.encode()).hexdigest()[:12],
    )
