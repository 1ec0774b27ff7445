/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "cli/report/losses.h"
#include "cli/report/record_summary.h"

/*
 * The losses of a recording, at each of the three places where data can be lost: the kernel's
 * rings, the shared memory, the central buffer; and of what producers took with them.
 */
void record_losses(const struct record_facts *f, struct losses *ret);

/* The service's counters: those at the end, else those in the trace; NULL: there are none. */
const struct service_stats *record_stats(const struct record_facts *f);
