/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/core/err.h"
#include "cli/recorder/recorder_options.h"

/*
 * The unit sonda-recorder.service of systemd. Its settings are the arguments of `sonda recorder
 * run` in RECORDER_ARGS_FILE, one per line.
 */

#define RECORDER_UNIT "sonda-recorder.service"
#define RECORDER_ARGS_FILE "/etc/sonda/recorder"

/* Writes the settings, and enables and starts the unit; a running unit is restarted with them.
 * Returns 0, or -errno and sets e: -ENOENT if systemd does not run here or lacks the unit. */
int recorder_unit_enable(const struct recorder_options *o, struct err_text *e);
/* Stops and disables the unit, and removes the settings. Returns 0, or -errno and sets e. */
int recorder_unit_disable(struct err_text *e);
/* Reads the settings of the unit into ret, as `sonda recorder run` does. Returns 0, -ENOENT if the
 * unit is not enabled, or -errno and sets e. */
int recorder_unit_read(struct recorder_options *ret, struct err_text *e);
