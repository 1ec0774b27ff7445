/* SPDX-License-Identifier: Apache-2.0 */
#include "procfs/sys/sys_names.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/core/mem.h"
#include "base/system/fs.h"
#include "base/text/str.h"

struct sys_listing {
	struct sys_names *names;
	const char *prefix;
	size_t cap;
	bool digits;
};

/* Returns the number after the prefix, or UINT32_MAX if there is none. */
static uint32_t sys_names_parse_number(const char *name, const char *prefix)
{
	uint32_t v;

	if (!str_starts(name, prefix) || str_to_u32(name + strlen(prefix), &v) < 0)
		return UINT32_MAX;
	return v;
}

static int sys_names_add(void *ctx, const char *name, unsigned char d_type)
{
	struct sys_listing *l = ctx;
	struct sys_names *s = l->names;

	(void)d_type;
	if (!str_starts(name, l->prefix) || s->n == SYS_NAMES_MAX ||
	    (l->digits && sys_names_parse_number(name, l->prefix) == UINT32_MAX))
		return 0;
	if (array_reserve(&s->names, &l->cap, s->n + 1, sizeof(*s->names)) < 0 ||
	    !(s->names[s->n] = strdup(name)))
		return -ENOMEM;
	s->n++;
	return 0;
}

static int sys_names_compare(const void *a, const void *b)
{
	return strverscmp(*(char *const *)a, *(char *const *)b);
}

int sys_names_read(struct sys_names *s, const char *folder, const char *prefix, bool digits)
{
	struct sys_listing l = {.names = s, .prefix = prefix, .digits = digits};
	int r;

	*s = (struct sys_names){0};
	r = fs_each(folder, sys_names_add, &l);
	if (r < 0)
		sys_names_deinit(s);
	else if (s->n > 0)
		qsort(s->names, s->n, sizeof(*s->names), sys_names_compare);
	return r;
}

void sys_names_deinit(struct sys_names *s)
{
	for (size_t i = 0; i < s->n; i++)
		free(s->names[i]);
	free(s->names);
	*s = (struct sys_names){0};
}

bool sys_names_equal(const struct sys_names *a, const struct sys_names *b)
{
	if (a->n != b->n)
		return false;
	for (size_t i = 0; i < a->n; i++)
		if (strcmp(a->names[i], b->names[i]) != 0)
			return false;
	return true;
}

/* Period of the check for added CPUs (hotplug). */
#define SYS_CPUS_LOOK_NS (10 * 1000000000ull)

static int sys_cpus_update_count(void *ctx, const char *name, unsigned char d_type)
{
	uint32_t *count = ctx, cpu = sys_names_parse_number(name, "cpu");

	(void)d_type;
	if (cpu < SYS_CPUS_MAX && cpu >= *count)
		*count = cpu + 1;
	return 0;
}

/*
 * Returns the highest id of a CPU that has a directory (online or not), plus one; 0 if there is
 * none.
 */
static uint32_t sys_cpus_count(const char *sys_root)
{
	char folder[512];
	uint32_t count = 0;

	if (fs_join(folder, sizeof(folder), sys_root, SYS_CPUS) == 0)
		(void)fs_each(folder, sys_cpus_update_count, &count);
	return count;
}

bool sys_cpus_rescan(struct sys_cpus *c, const char *sys_root, uint64_t now, uint32_t *ret_n)
{
	uint32_t n;

	if (now < c->again)
		return false;
	c->again = now + SYS_CPUS_LOOK_NS;
	n = sys_cpus_count(sys_root);
	if (n <= c->n)
		return false;
	*ret_n = n;
	return true;
}
