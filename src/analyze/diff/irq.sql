-- SPDX-License-Identifier: Apache-2.0
-- @help time in interrupts, softirqs and timers
-- @records irq

-- @section Interrupts, softirqs and timers
-- @by name
SELECT NULL, NULL, name, sum(total), sum(n), NULL, NULL, NULL
FROM interrupts
GROUP BY name
