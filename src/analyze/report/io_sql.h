/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Parts of statements about requests to block devices. */

/* clang-format cannot break statements that contain macros. */
/* clang-format off */

/* The number of a device as user space knows it: major:minor. */
#define SQL_DEVICE_NUMBER "((dev >> 8) & 4095) || ':' || ((dev & 255) | ((dev >> 12) & 1048320))"

/* The name of a device, which the group of its counter tracks has beside the number; the number if
 * the trace has no counters of the device. */
#define SQL_DEVICE                                                                                 \
	"coalesce((SELECT g.name FROM __intrinsic_track p CROSS JOIN __intrinsic_track g ON "     \
	"g.parent_id = p.id CROSS JOIN args a ON a.arg_set_id = g.source_arg_set_id WHERE "        \
	"p.name = 'diskstats' AND a.key = 'description' AND a.string_value = "                     \
	SQL_DEVICE_NUMBER "), " SQL_DEVICE_NUMBER ")"

/* The operation of a request in requests_by and longest_requests. */
#define SQL_OP                                                                                     \
	"CASE op WHEN 0 THEN 'read' WHEN 1 THEN 'write' WHEN 2 THEN 'discard' WHEN 3 THEN "        \
	"'flush' ELSE 'other' END AS op"
