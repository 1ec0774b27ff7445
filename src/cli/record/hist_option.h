/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/core/err.h"
#include "cli/terminal/kernel_events.h"
#include "config/trace_config.pb-c.h"

/*
 * The values of --hist: histograms that eBPF programs count in the kernel.
 *
 *	EVENT: FIELD [by KEY] [linear MIN..MAX step STEP]
 *	EVENT..EVENT: time [on FIELD[,FIELD]] [by KEY] [linear MIN..MAX step STEP]
 *
 * EVENT is NAME, GROUP:NAME or GROUP/NAME.
 */

/* Adds a data source with the histograms; for those by control group, also one with the names of
 * the groups. events: to check names; may be empty. Returns 0; -EINVAL and sets e; or -ENOMEM. */
int hist_option_put(const char *const *texts, size_t n, const struct tracefs_events *events,
		    uint32_t buffer, Pb__TraceConfig *config, struct err_text *e);
