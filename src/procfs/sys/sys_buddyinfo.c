/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>

#include "base/text/number_table.h"
#include "gen/fields.h"
#include "procfs/sys/sys_source.h"

/* /proc/buddyinfo: a line for each zone of each NUMA node. All of them are recorded. */

/*
 * Parses "Node 0, zone   Normal   1 2 3": the number of free blocks of each order. The
 * configuration of the kernel sets how many orders there are.
 */
static int parse_zone(struct sys_packet *p, struct span line)
{
	struct span node, zone;
	struct pb_enc *e;
	uint64_t v;

	if (!number_table_take(&line, "Node ") || !span_next_word(&line, &node) || node.len < 2 ||
	    node.p[node.len - 1] != ',' || !number_table_skip(&line, 1) ||
	    !span_next_word(&line, &zone))
		return -EBADMSG;
	e = sys_packet_open(p);
	pb_enc_open(e, PB_SYS_STATS_BUDDY_INFO);
	pb_enc_bytes(e, PB_SYS_STATS_BUDDY_INFO_NODE, node.p, node.len - 1);
	pb_enc_bytes(e, PB_SYS_STATS_BUDDY_INFO_ZONE, zone.p, zone.len);
	while (number_table_u64(&line, &v))
		pb_enc_u64(e, PB_SYS_STATS_BUDDY_INFO_ORDER_PAGES, sys_clamp_u32(v));
	pb_enc_close(e);
	return span_trim(line).len == 0 ? 0 : -EBADMSG;
}

static int buddyinfo_parse(void *state, struct sys_packet *p, struct span text)
{
	struct span line;
	int r = 0;

	(void)state;
	while (number_table_line(&text, &line)) {
		int bad = parse_zone(p, line);

		r = bad ? bad : r;
	}
	return text.len > 0 ? -EBADMSG : r;
}

const struct sys_source sys_buddyinfo = {
	.name = "buddyinfo",
	.period = offsetof(Pb__SysStatsConfig, buddyinfo_period_ms),
	.size = sizeof(struct sys_state),
	.file = "buddyinfo",
	.parse = buddyinfo_parse,
};
