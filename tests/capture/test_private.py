"""A run is safe to send: what was said to an operator in the user's own words is not in it."""

import torch
from torch import library

import roofline as rl
from roofline import runfile


@library.custom_op("mine_private::load", mutates_args=())
def load(x: torch.Tensor, where: str) -> torch.Tensor:
    return x + len(where)


def test_texts_given_to_other_peoples_operators_are_dropped(tmp_path):
    x = torch.ones(4, 4)
    with rl.profile() as run:
        load(x, "/home/ann/weights.bin")
        torch.nn.functional.gelu(x, approximate="tanh")
        torch.einsum("ij,jk->ik", x, x)
    path = tmp_path / "x.roof"
    run.save(path)
    saved = runfile.load(path)
    assert "ann" not in repr(saved.signatures)
    by_name = {signature.name: signature.call for signature in saved.signatures}
    assert by_name["mine_private::load"].args[1] == "text"
    assert by_name["aten::gelu"].args[1] == "tanh"  # its rule reads it
