/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <signal.h>

#include "base/core/err.h"
#include "cli/ship/ship_options.h"

/* The uploader: brings the entries of the spool into the bucket (spool.h, steps 6 to 10). */
struct ship_uploader;

/* Locks the spool's directory upload/, and loads libcurl and the keys. Returns 0, or -errno and
 * sets e. options and stop are borrowed. */
int ship_uploader_open(const struct ship_options *options, const volatile sig_atomic_t *stop,
		       struct ship_uploader **ret, struct err_text *e);
void ship_uploader_close(struct ship_uploader *u);

/* Uploads the entries that are there now, the oldest first. Returns 0, also if *stop was set; or
 * -errno and sets e: the store refuses a request, or all attempts of one failed. The entry then
 * stays in the spool. */
int ship_uploader_pass(struct ship_uploader *u, struct err_text *e);
