"""YAML documents with a position for every node: the one reader of bindings, cluster descriptors, MGD 1.0 and training configurations.

```python
from mgd.documents import DocumentError, Mapping, read

document = read("optimizer:\\n  lr: 3e-4\\n", file="train.yaml")     # or bytes as they are in the file
node = document.find("optimizer", "lr")                              # a Scalar, Sequence or Mapping; None where there is none
document.position(node)                                              # train.yaml:2:7
node.kind, node.text, node.value()                                   # 'text', '3e-4', '3e-4': YAML 1.1 wants a point in a number
document.value()                                                     # {'optimizer': {'lr': '3e-4'}}, as yaml.safe_load gives it
```

`read` raises DocumentError with the place and the reason for text that is not UTF-8, characters that YAML forbids, broken syntax, tags that do
not fit, nesting without end, and aliases or merge keys that would multiply the file. Scalars follow YAML 1.1, as PyYAML reads it, but for
numbers in base 60 (`12:30`), which nobody means: their kind is "base60", and they have a text and no value.
"""

from __future__ import annotations

from mgd.documents.nodes import Mapping, Node, Scalar, Sequence
from mgd.documents.reader import Document, DocumentError, read

__all__ = ["Document", "DocumentError", "Mapping", "Node", "Scalar", "Sequence", "read"]
