/* SPDX-License-Identifier: Apache-2.0 */
#include "procfs/counter_patterns.h"

#include <errno.h>
#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

static int copy(struct counter_patterns *p, const char *const *strings, size_t n)
{
	n = MIN(n, (size_t)COUNTER_PATTERNS_MAX);
	p->all = calloc(n + 1, sizeof(*p->all));
	if (!p->all)
		return -ENOMEM;
	for (size_t i = 0; i < n; i++) {
		if (strlen(strings[i]) >= COUNTER_PATTERN_SIZE)
			continue;
		p->all[p->n] = strdup(strings[i]);
		if (!p->all[p->n])
			return -ENOMEM;
		p->n++;
	}
	return 0;
}

int counter_patterns_init(struct counter_patterns *p, char *const *strings, size_t n,
			  const char *const *fallback)
{
	*p = (struct counter_patterns){0};
	if (n > 0)
		return copy(p, (const char *const *)strings, n);
	while (fallback && fallback[n])
		n++;
	return copy(p, fallback, n);
}

void counter_patterns_deinit(struct counter_patterns *p)
{
	for (size_t i = 0; i < p->n; i++)
		free(p->all[i]);
	free(p->all);
	*p = (struct counter_patterns){0};
}

bool counter_patterns_match(const struct counter_patterns *p, const char *s)
{
	/* Names of the kernel and of systemd have backslashes in them. */
	for (size_t i = 0; i < p->n; i++)
		if (fnmatch(p->all[i], s, FNM_NOESCAPE) == 0)
			return true;
	return false;
}
