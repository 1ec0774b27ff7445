/* SPDX-License-Identifier: Apache-2.0 */
#include "procfs/sys/sys_disks.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/core/clock.h"
#include "base/core/mem.h"
#include "procfs/sys/sys_value.h"

#define OF(title) .name = {title, sizeof(title) - 1}
#define COUNT .kind = {.unit = TRACK_UNIT_COUNT, .total = true}
/* Milliseconds. */
#define TIME .kind = {.unit = TRACK_UNIT_NS, .unit_multiplier = NS_PER_MS, .total = true}

static const struct column {
	uint8_t at; /* of the numbers behind the name */
	struct span name;
	struct track_spec kind;
} columns[] = {
	{0, OF("read I/Os"), COUNT},
	{1, OF("read merges"), COUNT},
	{4, OF("write I/Os"), COUNT},
	{5, OF("write merges"), COUNT},
	{8, OF("in_flight"), .kind = {.unit = TRACK_UNIT_COUNT}},
	{9, OF("io_ticks"), TIME},
	{10, OF("time_in_queue"), TIME},
	{11, OF("discard I/Os"), COUNT},
	{12, OF("discard merges"), COUNT},
};

#define COLUMNS ARRAY_SIZE(columns)
#define IN_FLIGHT 4

struct sys_disk {
	char *name; /* owned */
	uint32_t group;
	uint32_t counters[COLUMNS]; /* slots of sys_extras_put */
	uint32_t pass; /* the last that met it */
	bool is_here; /* as far as is known */
};

void sys_disks_deinit(struct sys_disks *d)
{
	for (size_t i = 0; i < d->n; i++)
		free(d->all[i].name);
	free(d->all);
	*d = (struct sys_disks){0};
}

void sys_disks_begin(struct sys_disks *d)
{
	d->pass++;
	d->next = 0;
}

static int add(struct sys_disks *d, struct sys_poll *p, struct span name, struct sys_disk **ret)
{
	struct sys_disk k = {0};

	if (d->n >= SYS_DISKS_MAX)
		return -E2BIG;
	if (array_reserve(&d->all, &d->cap, d->n + 1, sizeof(*d->all)) < 0 ||
	    !(k.name = strndup(name.p, name.len)))
		return -ENOMEM;
	if (d->n == 0)
		d->group = sys_extras_group(&p->extras, "diskstats");
	k.group = sys_extras_subgroup(&p->extras, d->group, k.name);
	d->all[d->n] = k;
	*ret = &d->all[d->n++];
	return 0;
}

static int find(struct sys_disks *d, struct sys_poll *p, struct span name, struct sys_disk **ret)
{
	for (size_t i = 0; i < d->n; i++) {
		if (d->next >= d->n)
			d->next = 0;
		*ret = &d->all[d->next++];
		if (span_is(name, (*ret)->name))
			return 0;
	}
	return add(d, p, name, ret);
}

int sys_disks_set(struct sys_disks *d, struct sys_poll *p, struct span name, const uint64_t *v,
		  size_t n)
{
	struct sys_disk *k;
	int r = find(d, p, name, &k);

	if (r < 0)
		return r;
	k->pass = d->pass;
	k->is_here = true;
	for (size_t i = 0; i < COLUMNS && columns[i].at < n; i++) {
		const struct column *c = &columns[i];

		if (!sys_extras_put(&p->extras, &k->counters[i], k->group, c->name, &c->kind,
				    sys_value_signed(v[c->at])))
			return -E2BIG;
	}
	return 0;
}

void sys_disks_end(struct sys_disks *d, struct sys_poll *p)
{
	for (size_t i = 0; i < d->n; i++) {
		struct sys_disk *k = &d->all[i];

		if (!k->is_here || k->pass == d->pass)
			continue;
		k->is_here = false;
		(void)sys_extras_put(&p->extras, &k->counters[IN_FLIGHT], k->group,
				     columns[IN_FLIGHT].name, &columns[IN_FLIGHT].kind, 0);
	}
}
