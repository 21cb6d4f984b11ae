# SPDX-License-Identifier: Apache-2.0
"""dbn_peer.py FILE: all records of a DBN file through the decoder of the package databento-dbn, in pieces of 1 MiB."""
import json
import sys
import time

import databento_dbn

start = time.perf_counter()
decoder, records = databento_dbn.DBNDecoder(), 0
with open(sys.argv[1], "rb") as file:
    while piece := file.read(1 << 20):
        decoder.write(piece)
        records += len(decoder.decode())
seconds = time.perf_counter() - start
print(json.dumps({"what": "databento-dbn", "bars": records - 1, "seconds": round(seconds, 3), "cpu_seconds": round(time.process_time(), 3), "bars_per_second": round(records / seconds)}))
