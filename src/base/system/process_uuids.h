/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdint.h>

/*
 * The uuids (base/core/process_uuid.h) of other processes, by pid. All data sources of this process
 * share them, so a process has one uuid even if it ends between the first tracks of two sources.
 * If a pid is reused, its new process has the uuid of the old one until process_uuids_clear(). One
 * thread uses these functions.
 */

#define PROCESS_UUIDS_MAX 65536u /* pids; about 64 bytes each */

/* Returns the uuid of the process. Its start time is taken to be 0 if it has ended, if
 * PROCESS_UUIDS_MAX pids are known already, or if memory runs out. */
uint64_t process_uuids_get(int32_t pid);
/* Forgets all uuids. Call it when no data source is left whose descriptors a later event could
 * refer to. */
void process_uuids_clear(void);
