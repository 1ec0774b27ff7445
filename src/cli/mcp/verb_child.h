/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/core/err.h"
#include "base/text/str.h"

/*
 * Runs a verb of this program in a process of its own. So a hostile trace or statement can neither
 * crash the server nor take its memory, and the kernel stops one that runs too long.
 */

#define VERB_CHILD_OUT_MAX (4u << 20) /* bytes of the verb's output that are read */
#define VERB_CHILD_ERRORS_MAX 8192

struct verb_child {
	char **argv; /* the program first; NULL at the end; borrowed */
	const int *fds; /* open in the child under the same numbers; borrowed */
	size_t n_fds;
	int dir; /* working directory of the verb; -1: that of this process */
	unsigned seconds; /* time after which the verb is stopped */
	bool ends_on_interrupt; /* the verb gets SIGINT first, and time to finish its files */
};

/* Zero-initialise; verb_output_deinit() frees. */
struct verb_output {
	struct strbuf out;
	struct strbuf errors; /* what the verb logged */
	int code; /* exit code of the verb */
	bool cut; /* the verb wrote more than VERB_CHILD_OUT_MAX, and was stopped */
};

/* Runs the verb and waits for its end. Returns 0 if it ended by itself or was cut; or -errno and
 * sets e: -ETIME if it took longer than c->seconds and was stopped. */
int verb_child_run(const struct verb_child *c, struct verb_output *ret, struct err_text *e);
void verb_output_deinit(struct verb_output *o);
