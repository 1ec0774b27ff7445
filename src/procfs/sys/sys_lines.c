/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <stdlib.h>

#include "gen/fields.h"
#include "procfs/sys/sys_disks.h"
#include "procfs/sys/sys_file.h"
#include "procfs/sys/sys_source.h"
#include "base/text/number_table.h"
#include "procfs/sys/sys_value.h"

/* /proc/buddyinfo and /proc/diskstats: each line tells of one thing, and all are recorded. */

struct sys_lines {
	struct sys_file file;
	struct sys_trouble trouble;
	struct sys_disks disks; /* of diskstats */
};

static int parse_lines(struct sys_lines *s, struct sys_poll *p, struct span text,
		       int (*parse)(struct sys_lines *s, struct sys_poll *p, struct span line))
{
	struct span line;
	int r = 0;

	while (number_table_line(&text, &line)) {
		int bad = parse(s, p, line);

		r = bad ? bad : r;
	}
	return text.len > 0 ? -EBADMSG : r;
}

/* "Node 0, zone   Normal   1 2 3": free blocks of each order; with how many orders the kernel was
 * built. */
static int parse_zone(struct sys_lines *s, struct sys_poll *p, struct span line)
{
	struct span node, zone;
	struct pb_enc *e;
	uint64_t v;

	(void)s;
	if (!number_table_take(&line, "Node ") || !span_next_word(&line, &node) || node.len < 2 ||
	    node.p[node.len - 1] != ',' || !number_table_skip(&line, 1) ||
	    !span_next_word(&line, &zone))
		return -EBADMSG;
	e = sys_poll_packet(p);
	pb_enc_open(e, PB_SYS_STATS_BUDDY_INFO);
	pb_enc_bytes(e, PB_SYS_STATS_BUDDY_INFO_NODE, node.p, node.len - 1);
	pb_enc_bytes(e, PB_SYS_STATS_BUDDY_INFO_ZONE, zone.p, zone.len);
	while (number_table_u64(&line, &v))
		pb_enc_u64(e, PB_SYS_STATS_BUDDY_INFO_ORDER_PAGES, sys_value_u32(v));
	pb_enc_close(e);
	return span_trim(line).len == 0 ? 0 : -EBADMSG;
}

static int buddyinfo_parse(void *state, struct sys_poll *p, struct span text)
{
	return parse_lines(state, p, text, parse_zone);
}

/* Which field of DiskStat is in which number behind the name; 0: none, sys_disks.h has it. Kernels
 * before 4.18 end after 11 numbers, before 5.5 after 15. */
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

/* "259 0 nvme0n1 NUMBERS": those that stand there, as many as are known. */
static int parse_disk(struct sys_lines *s, struct sys_poll *p, struct span line)
{
	uint64_t v[sizeof(disk_fields)];
	struct span name;
	struct pb_enc *e;
	size_t n = 0;

	if (!number_table_skip(&line, 2) || !span_next_word(&line, &name))
		return -EBADMSG;
	while (n < sizeof(disk_fields) && number_table_u64(&line, &v[n]))
		n++;
	/* Up to the time of writing they are in every kernel. */
	if (n < 11)
		return -EBADMSG;
	e = sys_poll_packet(p);
	pb_enc_open(e, PB_SYS_STATS_DISK_STAT);
	pb_enc_bytes(e, PB_SYS_STATS_DISK_STAT_DEVICE_NAME, name.p, name.len);
	for (size_t i = 0; i < n; i++)
		if (disk_fields[i])
			pb_enc_u64(e, disk_fields[i], v[i]);
	pb_enc_close(e);
	return sys_disks_set(&s->disks, p, name, v, n);
}

static int diskstats_parse(void *state, struct sys_poll *p, struct span text)
{
	struct sys_lines *s = state;
	int r;

	sys_disks_begin(&s->disks);
	r = parse_lines(s, p, text, parse_disk);
	/* Of a text that was not understood, one that is missing may be there all the same. */
	if (r == 0)
		sys_disks_end(&s->disks, p);
	return r;
}

static int open_lines(struct sys_poll *p, const struct sys_source *source, void **ret_state)
{
	struct sys_lines *s = calloc(1, sizeof(*s));

	if (!s || sys_file_init(&s->file, false, p->proc_root, "%s", source->name) < 0) {
		free(s);
		return -ENOMEM;
	}
	s->trouble.what = source->name;
	*ret_state = s;
	return 0;
}

static int buddyinfo_open(struct sys_poll *p, const Pb__SysStatsConfig *c, void **ret_state)
{
	(void)c;
	return open_lines(p, &sys_buddyinfo, ret_state);
}

static int diskstats_open(struct sys_poll *p, const Pb__SysStatsConfig *c, void **ret_state)
{
	(void)c;
	return open_lines(p, &sys_diskstats, ret_state);
}

static bool buddyinfo_step(void *state, struct sys_poll *p)
{
	struct sys_lines *s = state;

	sys_file_poll(&s->file, p, &s->trouble, buddyinfo_parse, s);
	return false;
}

static bool diskstats_step(void *state, struct sys_poll *p)
{
	struct sys_lines *s = state;

	sys_file_poll(&s->file, p, &s->trouble, diskstats_parse, s);
	return false;
}

static void lines_close(void *state, struct sys_poll *p)
{
	struct sys_lines *s = state;

	sys_file_deinit(&s->file, p);
	sys_disks_deinit(&s->disks);
	free(s);
}

const struct sys_source sys_buddyinfo = {
	.name = "buddyinfo",
	.period = offsetof(Pb__SysStatsConfig, buddyinfo_period_ms),
	.open = buddyinfo_open,
	.step = buddyinfo_step,
	.parse = buddyinfo_parse,
	.close = lines_close,
};

const struct sys_source sys_diskstats = {
	.name = "diskstats",
	.period = offsetof(Pb__SysStatsConfig, diskstat_period_ms),
	.open = diskstats_open,
	.step = diskstats_step,
	.parse = diskstats_parse,
	.close = lines_close,
};
