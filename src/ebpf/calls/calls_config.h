/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/core/err.h"
#include "bpf/calls.h"
#include "config/linux/syscalls_config.pb-c.h"
#include "subjects/subject.h"

/* The config of linux.syscalls, checked. */

#define CALLS_PIDS_MAX 4096

struct calls_config {
	struct calls_settings settings; /* own is not set here */
	bool of_user; /* only calls of the user settings.uid */
	uint32_t *pids; /* owned */
	size_t n_pids; /* 0: all */
	struct subject_ids subject; /* owned; set by the caller */
	struct call_spec specs[CALLS_SPECS];
};

/* Reads the config. m NULL: the default. consumer: the user of the session; if it is not root, only
 * calls of its own processes are recorded. Zero-initialise c; call deinit also after an error.
 * Returns 0, or -errno and sets e. */
int calls_config_read(const Pb__SyscallsConfig *m, uint32_t consumer, struct calls_config *c,
		      struct err_text *e);
void calls_config_deinit(struct calls_config *c);
