/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/core/clock.h"
#include "base/core/mem.h"
#include "base/text/number_table.h"
#include "gen/fields.h"
#include "procfs/sys/sys_file.h"
#include "procfs/sys/sys_packet.h"
#include "procfs/sys/sys_source.h"

/*
 * The columns of /proc/diskstats without a field in DiskStat, as counter tracks in a group for each
 * disk. Names: Documentation/block/stat.rst of the kernel.
 */

/* Limit of disks; further ones are skipped and counted as read errors. */
#define SYS_DISKS_MAX 2048
/* Numbers after the name; later kernels may have more. */
#define SYS_DISK_COLUMNS 17

/* Zero-initialise. */
struct sys_disks {
	struct sys_disk *all; /* owned */
	size_t n, cap;
	size_t next; /* index after the disk that was found last: the kernel keeps their order */
	uint32_t pass;
	uint32_t group;
};

#define OF(title) .name = {title, sizeof(title) - 1}
#define COUNT .kind = {.unit = TRACK_UNIT_COUNT, .total = true}
/* Milliseconds. */
#define TIME .kind = {.unit = TRACK_UNIT_NS, .unit_multiplier = NS_PER_MS, .total = true}

static const struct column {
	uint8_t at; /* index in the numbers after the name */
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
	char *name, *number; /* owned; number: "254:0", as lsblk(8) prints it */
	uint32_t group;
	uint32_t counters[COLUMNS]; /* slots of extra_counters_set_in_slot */
	uint32_t pass; /* last pass that met the disk */
	bool is_here; /* it exists, as far as known */
};

static void sys_disks_deinit(struct sys_disks *d)
{
	for (size_t i = 0; i < d->n; i++) {
		free(d->all[i].name);
		free(d->all[i].number);
	}
	free(d->all);
	*d = (struct sys_disks){0};
}

/* Begins a pass, which then calls sys_disks_set() for each line and, if the whole file was parsed,
 * sys_disks_end(). */
static void sys_disks_begin(struct sys_disks *d)
{
	d->pass++;
	d->next = 0;
}

static int sys_diskstats_add(struct sys_disks *d, struct sys_packet *p, struct span name,
			     const uint64_t *device, struct sys_disk **ret)
{
	struct sys_disk k = {0};

	if (d->n >= SYS_DISKS_MAX)
		return -E2BIG;
	if (array_reserve(&d->all, &d->cap, d->n + 1, sizeof(*d->all)) < 0 ||
	    !(k.name = strndup(name.p, name.len)))
		return -ENOMEM;
	if (asprintf(&k.number, "%" PRIu64 ":%" PRIu64, device[0], device[1]) < 0) {
		free(k.name);
		return -ENOMEM;
	}
	if (d->n == 0)
		d->group = extra_counters_add_group(&p->extras, "diskstats");
	k.group = extra_counters_add_subgroup(&p->extras, d->group, k.name, k.number);
	d->all[d->n] = k;
	*ret = &d->all[d->n++];
	return 0;
}

static int sys_diskstats_find_or_add(struct sys_disks *d, struct sys_packet *p, struct span name,
				     const uint64_t *device, struct sys_disk **ret)
{
	for (size_t i = 0; i < d->n; i++) {
		if (d->next >= d->n)
			d->next = 0;
		*ret = &d->all[d->next++];
		if (span_is(name, (*ret)->name))
			return 0;
	}
	return sys_diskstats_add(d, p, name, device, ret);
}

/* Sets the n numbers of one disk. device: its major and minor number. Returns 0, -E2BIG or
 * -ENOMEM. */
static int sys_disks_set(struct sys_disks *d, struct sys_packet *p, struct span name,
			 const uint64_t *device, const uint64_t *v, size_t n)
{
	struct sys_disk *k;
	int r = sys_diskstats_find_or_add(d, p, name, device, &k);

	if (r < 0)
		return r;
	k->pass = d->pass;
	k->is_here = true;
	for (size_t i = 0; i < COLUMNS && columns[i].at < n; i++) {
		const struct column *c = &columns[i];

		if (!extra_counters_set_in_slot(&p->extras, &k->counters[i], k->group, c->name,
						&c->kind, sys_clamp_i64(v[c->at])))
			return -E2BIG;
	}
	return 0;
}

/* Sets the I/O in flight of disks that have disappeared to 0. */
static void sys_disks_end(struct sys_disks *d, struct sys_packet *p)
{
	for (size_t i = 0; i < d->n; i++) {
		struct sys_disk *k = &d->all[i];

		if (!k->is_here || k->pass == d->pass)
			continue;
		k->is_here = false;
		(void)extra_counters_set_in_slot(&p->extras, &k->counters[IN_FLIGHT], k->group,
						 columns[IN_FLIGHT].name, &columns[IN_FLIGHT].kind,
						 0);
	}
}

struct sys_diskstats {
	struct sys_state base;
	struct sys_disks disks;
};

/* Field of DiskStat for each number after the name; 0: columns[] has it. Kernels before 4.18 have
 * 11 numbers, before 5.5 they have 15. */
static const uint8_t disk_fields[SYS_DISK_COLUMNS] = {
	[2] = PB_SYS_STATS_DISK_STAT_READ_SECTORS,
	[3] = PB_SYS_STATS_DISK_STAT_READ_TIME_MS,
	[6] = PB_SYS_STATS_DISK_STAT_WRITE_SECTORS,
	[7] = PB_SYS_STATS_DISK_STAT_WRITE_TIME_MS,
	[13] = PB_SYS_STATS_DISK_STAT_DISCARD_SECTORS,
	[14] = PB_SYS_STATS_DISK_STAT_DISCARD_TIME_MS,
	[15] = PB_SYS_STATS_DISK_STAT_FLUSH_COUNT,
	[16] = PB_SYS_STATS_DISK_STAT_FLUSH_TIME_MS,
};

/* Parses "259 0 nvme0n1 NUMBERS", as many numbers as are known. */
static int parse_disk(struct sys_diskstats *s, struct sys_packet *p, struct span line)
{
	uint64_t device[2], v[sizeof(disk_fields)];
	struct span name;
	struct pb_enc *e;
	size_t n = 0;

	if (!number_table_u64(&line, &device[0]) || !number_table_u64(&line, &device[1]) ||
	    !span_next_word(&line, &name))
		return -EBADMSG;
	while (n < sizeof(disk_fields) && number_table_u64(&line, &v[n]))
		n++;
	/* Every kernel has the first 11 numbers, up to time_in_queue. */
	if (n < 11)
		return -EBADMSG;
	e = sys_packet_open(p);
	pb_enc_open(e, PB_SYS_STATS_DISK_STAT);
	pb_enc_bytes(e, PB_SYS_STATS_DISK_STAT_DEVICE_NAME, name.p, name.len);
	for (size_t i = 0; i < n; i++)
		if (disk_fields[i])
			pb_enc_u64(e, disk_fields[i], v[i]);
	pb_enc_close(e);
	return sys_disks_set(&s->disks, p, name, device, v, n);
}

static int diskstats_parse(void *state, struct sys_packet *p, struct span text)
{
	struct sys_diskstats *s = state;
	struct span line;
	int r = 0;

	sys_disks_begin(&s->disks);
	while (number_table_line(&text, &line)) {
		int bad = parse_disk(s, p, line);

		r = bad ? bad : r;
	}
	if (text.len > 0)
		r = -EBADMSG;
	/* After a parse error a disk that is missing from the text may still exist. */
	if (r == 0)
		sys_disks_end(&s->disks, p);
	return r;
}

static void diskstats_close(void *state, struct sys_packet *p)
{
	struct sys_diskstats *s = state;

	sys_disks_deinit(&s->disks);
}

const struct sys_source sys_diskstats = {
	.name = "diskstats",
	.period = offsetof(Pb__SysStatsConfig, diskstat_period_ms),
	.size = sizeof(struct sys_diskstats),
	.file = "diskstats",
	.parse = diskstats_parse,
	.close = diskstats_close,
};
