/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/core/err.h"
#include "cli/recorder/recorder_options.h"

/* Records into the ring until SIGINT or SIGTERM, with its own sondad and sonda-probes, so that
 * sessions and restarts of the machine's tracing service do not affect it. Begins again when one of
 * these two ends, and pauses while the file system is nearly full. Reports what it does in the
 * directory's state (recorder_state.h), in the log, and to systemd. Returns 0, or -errno and sets e
 * if it cannot start. */
int recorder_run(const struct recorder_options *o, struct err_text *e);
