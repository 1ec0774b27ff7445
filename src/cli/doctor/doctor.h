/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/core/err.h"

/*
 * What the rest of sonda says about obstacles: the sentences of sonda doctor, "FINDING; run: REMEDY".
 */

/* Checks what a service and a producer that this process starts need to record kernel events.
 * Returns 0, or -EACCES and sets e to the first obstacle. */
int doctor_may_record(struct err_text *e);

/* Checks what the same producer needs for eBPF counters. Returns 0, or -EACCES and sets e. */
int doctor_may_count(struct err_text *e);

/* Checks the room for a trace in a directory. Returns 0, or -ENOSPC and sets e. */
int doctor_has_room(const char *dir, struct err_text *e);
