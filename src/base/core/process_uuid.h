/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/*
 * The uuids of processes and threads in perfetto.protos.TrackDescriptor. Readers treat two uuids of
 * one tid as two threads, so all that write tracks of a process derive its uuid in the same way:
 * libsonda and Perfetto's libraries in the process itself, and sonda-probes.
 */

/* Finds the start time of the process (field 22) in /proc/PID/stat, proc_pid_stat(5). Returns false
 * if the text has no such field. ret: in clock ticks since the boot. */
bool process_start_ticks(const char *stat, uint64_t *ret);
/* Returns the uuid of a process: FNV-1a over the start time (clock ticks, 8 bytes) and the pid (4
 * bytes). */
uint64_t process_uuid_of(uint64_t start_ticks, int32_t pid);

static inline uint64_t thread_uuid_of(uint64_t process_uuid, int32_t tid)
{
	return process_uuid ^ (uint64_t)(int64_t)tid;
}
