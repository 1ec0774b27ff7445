/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/core/err.h"
#include "cli/record/option_values.h"

/*
 * The threads of processes as they are now, in *ret_tids, which the caller frees. proc_root: where
 * procfs is. 0; -ESRCH (one of the processes is not there), -errno of reading it, each with the
 * sentence in e; or -ENOMEM.
 */
int pid_tasks_list(const char *proc_root, const struct pid_list *pids, uint32_t **ret_tids,
		   size_t *ret_n, struct err_text *e);
