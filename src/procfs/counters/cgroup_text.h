/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "client/counters/counter_number.h"

/*
 * The text of a file of a control group, of any of the formats there are:
 *
 *	4096                                        name ""         memory.current
 *	anon 4096                                   "anon"          memory.stat, cpu.stat
 *	254:0 rbytes=4096 wbytes=0                  "254:0 rbytes"  io.stat, memory.numa_stat
 *	some avg10=0.12 avg60=0.00 total=8          "some avg10"    pressure
 *
 * A word without a number ("max", a device that did nothing) is passed over. Gives every number that
 * there is; 0, or -EBADMSG: something was left out that is none of these.
 *
 * Format: Documentation/admin-guide/cgroup-v2.rst, "Format" and "Interface Files".
 */
int cgroup_text_parse(struct span text, counter_number_fn fn, void *ctx);
