/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "analyze/import/importer.h"

/*
 * A config may limit a recording to the threads of a command or of processes. Of other threads such
 * a trace only has what involves a recorded thread: the switch from a recorded thread to another
 * one, but not the next switch, which ends that run.
 *
 * Sets store->recorded for such a trace. A run of a thread that is not recorded, without an end,
 * gets the length 0 in sched and in thread_state, so that it does not seem to last. Call this at the
 * end, when all rows are there.
 */
void recorded_threads_finish(struct import *im);
