/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdint.h>

#include "base/core/pid_set.h"
#include "import/file/trace_output.h"

/* Writes the names of threads in saved_cmdlines, lines of the form "TID COMM", as a ProcessTree at
 * time_ns. The file does not have the processes of threads, so each thread is the main thread of a
 * process of its own. Threads of `skipped` are left out, because their start was recorded. */
void thread_names_write(const char *saved_cmdlines, const struct pid_set *skipped, uint64_t time_ns,
			struct trace_sequence *s);
