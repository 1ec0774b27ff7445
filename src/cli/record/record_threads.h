/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/core/err.h"
#include "cli/record/option_values.h"
#include "config/trace_config.pb-c.h"

/*
 * Restricts kernel events to some threads. An event belongs to the thread that is running when it
 * happens. One thread puts a disk request into the queue (block_rq_insert), but any thread may be
 * running when the driver gets the request (block_rq_issue) and when it ends, in an interrupt
 * (block_rq_complete). If the config names events of these last two kinds, they move to a separate
 * data source, which records all threads.
 */

/* Restricts the kernel events of all data sources of the config, and waits, to single-threaded
 * processes (tids: their threads) and their future children. Replaces the threads of an earlier
 * call. Returns 0 or -ENOMEM. */
int record_threads_restrict(Pb__TraceConfig *config, const uint32_t *tids, size_t n);
/* Sets the subject in all data sources that support one. Returns 0 or -ENOMEM. */
int record_threads_restrict_to_subject(Pb__TraceConfig *config, const Pb__SubjectConfig *subject);
/* Like record_threads_restrict(), with the current threads of processes of this machine; restricts
 * the counters of eBPF programs and the samples of call stacks to these processes, too. Returns 0,
 * or -errno and sets e (-ESRCH: a process does not exist). */
int record_threads_restrict_to_pids(Pb__TraceConfig *config, const struct pid_list *pids,
				    struct err_text *e);
