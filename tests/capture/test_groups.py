"""Groups of processes among a call's arguments."""

import pytest

torch = pytest.importorskip("torch")
distributed = pytest.importorskip("torch.distributed")
if not distributed.is_available():
    pytest.skip("this PyTorch has no torch.distributed", allow_module_level=True)

import roofline as rl  # noqa: E402


def test_a_group_is_kept_as_how_many_take_part(tmp_path):
    """Equal calls fold, though each brings an object of its own; a reduction is no group."""
    distributed.init_process_group(
        "gloo", init_method=f"file://{tmp_path}/store", rank=0, world_size=1
    )
    try:
        x = torch.ones(4)
        with rl.profile() as run:
            for _ in range(3):
                distributed.all_reduce(x)
    finally:
        distributed.destroy_process_group()
    (call,) = [s.call for s in run.run.signatures if s.name == "c10d::allreduce_"]
    assert call.args[1:3] == ("group of 1", "scriptobject")
