-- SPDX-License-Identifier: Apache-2.0
-- @help how long the command ran
-- @records sched

-- The whole that the other metrics are parts of.
-- @section Duration of a run
-- @by run
SELECT NULL, NULL, NULL, :to - :from, 1, NULL, NULL, NULL
WHERE :run
