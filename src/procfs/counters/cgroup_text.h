/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/text/span.h"
#include "client/counters/counter_number.h"

/*
 * Parses a file of a control group, in any of the formats:
 *
 *	4096                                        name ""         memory.current
 *	anon 4096                                   "anon"          memory.stat, cpu.stat
 *	254:0 rbytes=4096 wbytes=0                  "254:0 rbytes"  io.stat, memory.numa_stat
 *	some avg10=0.12 avg60=0.00 total=8          "some avg10"    pressure
 *
 * Words without a number ("max", an idle device) are skipped. Calls fn for every number. Returns 0,
 * or -EBADMSG if a part in another format was skipped.
 *
 * Format: Documentation/admin-guide/cgroup-v2.rst, "Format" and "Interface Files".
 */
int cgroup_text_parse(struct span text, counter_number_fn fn, void *ctx);
