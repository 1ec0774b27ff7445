/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "import/file/import_result.h"
#include "import/file/trace_output.h"

/*
 * Packets about the recording as a whole. Strings are written up to their NUL, with '?' for what
 * is not printable ASCII.
 */

/* uname(2) of the recorded machine; "" for what is unknown. n_cpus 0: unknown. */
struct recorded_machine {
	char sysname[32], release[128], version[128], machine[64];
	uint32_t n_cpus;
};

void trace_facts_put_machine(struct trace_sequence *s, const struct recorded_machine *m);

/* Writes a clock snapshot: boot_ns is a moment on CLOCK_BOOTTIME, the clock of the trace; clock_ns
 * is the same moment on another clock, by its number in BuiltinClock; clock 0: none. */
void trace_facts_put_clocks(struct trace_sequence *s, uint64_t boot_ns, uint32_t clock,
			    uint64_t clock_ns);

/* Writes what the import found, as ImportedRecording. */
void trace_facts_put_result(struct trace_sequence *s, const struct import_result *r);
