/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>

#include "base/core/err.h"

/*
 * Obstacles to a recording, in the wording of sonda doctor ("FINDING; run: REMEDY"), for the other
 * verbs.
 */

/* Checks what a service and a producer that this process starts need, with or without kernel
 * events. Returns 0, or -EACCES and sets e to the first obstacle. */
int doctor_check_before_start(bool kernel_events, struct err_text *e);
/* Returns true if a producer that this process starts has any capability. */
bool doctor_daemons_have_capabilities(void);

/* Makes one check, given by its name, after a recording that lacks something. refused: lines about
 * what it lacks; only the kernel options that these lines are about are checked (NULL: all).
 * own_daemons: the recording has started its own service; otherwise the service on socket (NULL:
 * the default) has recorded. Returns 0 if the check finds no limit, or -EACCES and sets e. */
int doctor_explain(const char *check, bool own_daemons, const char *socket, const char *refused,
		   struct err_text *e);

/* Checks that a directory has room for a trace. Returns 0, or -ENOSPC and sets e. */
int doctor_check_disk_space(const char *dir, struct err_text *e);
