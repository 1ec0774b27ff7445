-- SPDX-License-Identifier: Apache-2.0
-- @help disk requests
-- @records io

-- @section Requests to disks, by device
-- @by device
SELECT NULL, NULL, op || ' ' || device, total, n, p50, p99, bytes
FROM (SELECT $DEVICE AS device, $OP, total, n, p50, p99, bytes FROM (SELECT who AS dev, * FROM requests_by('device')))

-- @section Requests to disks, by program
-- @by program
SELECT who, NULL, $OP, total, n, p50, p99, bytes
FROM requests_by('program')
