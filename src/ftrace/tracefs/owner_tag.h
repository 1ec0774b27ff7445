/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/* Reports whether the process that made an object in tracefs still runs. A pid alone is ambiguous
 * because pids are reused, so the tag has the start time as well. */
struct owner_tag {
	bool lives; /* a process with this pid runs */
	uint64_t start_ticks; /* since boot, sysconf(_SC_CLK_TCK) ticks per second; 0: unknown */
};

/* Reads the tag of the process from /proc/PID/stat. */
struct owner_tag owner_tag_read(int pid);
/* Returns the start time in ns of CLOCK_REALTIME, exact to a tick; 0 if unknown. */
uint64_t owner_tag_start_ns(const struct owner_tag *o);

/* Names for objects that a session makes outside its instance, in namespaces shared by all tracers
 * (groups of probes, synthetic events): sonda_PID_START_NUMBER, with the process's start in ticks.
 * The name alone shows whether the object was left behind by a killed process. */
#define OWNER_NAME_SIZE 56 /* the kernel's limit is 63 characters */

/* Writes a name that this process has not used before. */
void owner_tag_new_name(char name[static OWNER_NAME_SIZE]);
/* Returns true if the name is one of owner_tag_new_name(), or such a name followed by _ANYTHING. */
bool owner_tag_is_in_name(const char *name);
/* Returns true if the name is one of owner_tag_new_name() whose process has ended. */
bool owner_tag_is_stale(const char *name);
