"""Operators that are known to move no tensor: views, allocation, bookkeeping.

They have an empty ledger, which is not the same as being unknown.
"""

from roofline.call import Call
from roofline.ops.lines import ledger
from roofline.ops.rule import Rule
from roofline.work import Ledger

VIEWS = (
    "view", "_unsafe_view", "_reshape_alias", "view_as", "expand", "expand_as",
    "t", "transpose", "permute", "movedim", "swapaxes", "swapdims", "numpy_T", "mT", "mH",
    "adjoint",
    "t_", "transpose_", "squeeze", "squeeze_", "unsqueeze", "unsqueeze_", 
    "slice", "select", "narrow", "diagonal", "as_strided", "as_strided_", "unfold", "alias",
    "split", "split_with_sizes", "chunk", "tensor_split", "hsplit", "vsplit", "dsplit", "unbind",
    "unsafe_split", "unsafe_split_with_sizes", "unsafe_chunk", "unflatten", "detach", "detach_",
    "view_as_real", "view_as_complex", "real", "imag", "_conj", "conj", 
    "_neg_view", "broadcast_to", "broadcast_tensors", "_fw_primal", "_make_dual", "set_",
)  # fmt: skip
ALLOCATION = (
    "empty", "empty_strided", "empty_like", "new_empty", "new_empty_strided", "empty_permuted",
    "_efficientzerotensor", "_empty_affine_quantized", "resize_", "resize_as_", "lift",
    "lift_fresh",
)  # fmt: skip
# The value of one element on its way to the host; the wait for it is time, not work.
BOOKKEEPING = (
    "item", "_local_scalar_dense", "is_nonzero", "result_type", "is_pinned", "size", "stride",
    "sym_size", "sym_stride", "sym_numel", "sym_storage_offset", "dim", "numel", "is_same_size",
    "_has_compatible_shallow_copy_type", "requires_grad_", "retain_grad", "_version", "output_nr",
    "is_floating_point", "is_complex", "_assert_async", "_assert_scalar", "_assert_tensor_metadata",
    "sym_constrain_range", "sym_constrain_range_for_size", "record_stream", "_fused_sdp_choice",
    "_debug_has_internal_overlap", "_nested_tensor_size", "is_coalesced", "promote_types",
    "can_cast", "_has_same_storage_numel",
    "_indices", "_values", "indices", "values", "crow_indices", "col_indices",
    "ccol_indices", "row_indices", "_nnz", "sparse_dim", "_dimI", "_dimV", "dense_dim",
    "_linalg_check_errors", "_nested_get_values", "_nested_get_offsets", "_nested_view_from_jagged",
    "_nested_get_lengths", "_nested_get_jagged_dummy", "_nested_get_ragged_idx",
    "_nested_tensor_strides", "_nested_tensor_storage_offsets", "_nested_view_from_buffer",
    "_sparse_coo_tensor_with_dims_and_tensors", "_sparse_coo_tensor_unsafe",
    "_sparse_compressed_tensor_unsafe", "_coalesced_",
)  # fmt: skip
OUTSIDE = (
    "profiler::_record_function_enter", "profiler::_record_function_enter_new",
    "profiler::_record_function_exit",
)  # fmt: skip


def free(call: Call) -> Ledger:
    """Nothing is read, written or computed."""
    return ledger()


RULES = (
    *(Rule(f"aten::{name}", free) for name in (*VIEWS, *ALLOCATION, *BOOKKEEPING)),
    *(Rule(name, free) for name in OUTSIDE),
)
