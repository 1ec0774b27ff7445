/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "cli/perfetto/perfetto_options.h"
#include "config/trace_config.pb-c.h"

/*
 * Makes the config of the command line: that of -c, or the one that the light flags stand for.
 * Returns -1 and sets *ret, which the caller frees; else the exit code, after printing the error.
 */
int perfetto_config_make(const struct perfetto_options *o, Pb__TraceConfig **ret);
