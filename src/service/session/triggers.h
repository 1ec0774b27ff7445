/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdint.h>
#include <sys/types.h>

struct sessions;

/*
 * A producer activates the name of a trigger, and every session that accepts it acts
 * (session_apply_trigger()). A session accepts it if it declares the name, and producer_name_regex,
 * skip_probability and max_per_24_h allow it.
 */

/* *budget: remaining steps of regular expressions for the request (name_regex.h); at 0 a trigger
 * with an expression is ignored. */
void triggers_activate(struct sessions *v, const char *producer, uid_t uid, const char *name,
		       uint64_t *budget);
