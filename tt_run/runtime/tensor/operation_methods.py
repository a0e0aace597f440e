"""What `Tensor` has from operations, which are made of tensors and so stand above it.

Type checkers read the signatures in the stub beside this module, which scripts/gen writes from those methods.
"""

from __future__ import annotations

from tt_run.runtime.tensor.late_methods import late_methods

TensorMethods = late_methods(
    "tt_run.runtime.ops.tensor_methods.TensorMethods",
    "_constructed to_numpy to_torch to_list item to cpu reshape pad unpad pad_to_tile unpad_from_tile __getitem__ "
    "__add__ __radd__ __sub__ __rsub__ __neg__ __mul__ __rmul__ __truediv__ __rtruediv__ __matmul__ "
    "__eq__ __ne__ __lt__ __le__ __gt__ __ge__ buffer_page_size buffer_aligned_page_size buffer_num_pages "
    "to_torch_with_padded_shape extract_shard",
)
