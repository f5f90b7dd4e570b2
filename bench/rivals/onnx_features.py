"""onnx_features.py MODEL INPUT SHAPE OUTPUT COUNT: images per CPU second of plain ONNX Runtime.

The images are made up and in memory already: nothing is read, decoded or kept. One thread; several batch sizes, of
which the fastest counts.
"""
import json
import sys
import time

import numpy as np
import onnxruntime

model, name, shape, output, count = sys.argv[1], sys.argv[2], sys.argv[3], sys.argv[4], int(sys.argv[5])
options = onnxruntime.SessionOptions()
options.intra_op_num_threads = options.inter_op_num_threads = 1
session = onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])
dims = [int(d) for d in shape.split("x")]
found = {}
for batch in (8, 16, 32, 64):
    images = np.random.default_rng(1).random((batch, *dims), dtype=np.float32)
    session.run([output], {name: images})
    start = time.process_time()
    for _ in range(max(1, count // batch)):
        session.run([output], {name: images})
    found[batch] = max(1, count // batch) * batch / (time.process_time() - start)
best = max(found, key=found.get)
print(json.dumps({"version": onnxruntime.__version__, "batch": best, "per_second": found[best]}))
