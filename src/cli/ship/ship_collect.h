/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <signal.h>

#include "base/core/err.h"
#include "cli/ship/ship_options.h"

/* The collector: puts new traces of the source directories into the spool (spool.h, steps 1 to 5),
 * and removes from it what the bucket has (step 11). The sources stay. */
struct ship_collector;

/* Locks the spool. Returns 0, or -errno and sets e. options and stop are borrowed. */
int ship_collector_open(const struct ship_options *options, const volatile sig_atomic_t *stop,
			struct ship_collector **ret, struct err_text *e);
void ship_collector_close(struct ship_collector *c);

/* Collects the traces that are there now; logs what fails. Returns the number of traces that could
 * not be put into the spool, and are tried again in the next pass. */
unsigned ship_collector_pass(struct ship_collector *c);
