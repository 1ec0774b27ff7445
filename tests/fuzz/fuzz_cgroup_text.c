/* SPDX-License-Identifier: Apache-2.0 */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include "procfs/counters/cgroup_tree.h"

/* The bytes as a file of a control group. */

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct numbers {
	size_t n;
	uint64_t sum;
};

static void check_number(void *ctx, struct span name, const struct counter_number *v)
{
	struct numbers *x = ctx;

	for (size_t i = 0; i < name.len; i++)
		x->sum += (uint8_t)name.p[i];
	if (v->is_double ? !(v->d <= 1e20 && v->d >= -1e20) : v->d != 0)
		abort();
	x->n++;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct numbers first = {0}, again = {0};
	struct span text = {(const char *)data, size};

	if (!data)
		return 0;
	if (cgroup_text_parse(text, check_number, &first) !=
	    cgroup_text_parse(text, check_number, &again))
		abort();
	/* Each number has a digit of its own. */
	if (first.n != again.n || first.sum != again.sum || first.n > size)
		abort();
	return 0;
}
