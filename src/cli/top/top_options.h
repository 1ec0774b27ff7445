/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/core/err.h"

/* The command line of sonda top. Zero-initialise; top_options_deinit frees. */
struct top_options {
	const char *socket; /* borrowed from argv; NULL: the default */
	const char *color; /* likewise: always, never or auto */
	uint32_t period_ms;
	uint64_t count; /* screens; 0: until the user ends it */
	size_t sort; /* index of a column */
	size_t rows; /* 0: as many as there is room for */
	uint32_t *pids; /* owned */
	size_t n_pids, pids_cap;
	bool batch;
	bool json;
	bool help;
};

/* Returns 0, or -EINVAL or -ENOMEM and sets e. */
int top_options_parse(int argc, char **argv, struct top_options *ret, struct err_text *e);
void top_options_deinit(struct top_options *o);

void top_print_usage(void);
