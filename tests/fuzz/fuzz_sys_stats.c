/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>

#include "fuzz_sys_packets.h"
#include "procfs/sys/sys_source.h"

/*
 * The same bytes as every file of /proc that linux.sys_stats reads: their first half, then all of
 * them, as two polls. What comes out must be messages.
 */

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void polls(struct sys_packet *p, const struct sys_source *source,
		  const Pb__SysStatsConfig *c, const char *text, size_t size)
{
	void *state = NULL;

	if (source->open(p, c, &state) < 0)
		abort();
	for (size_t len = size / 2;; len = size) {
		sys_packet_begin(p);
		(void)source->parse(state, p, (struct span){text, len});
		sys_packet_end(p);
		check_packets();
		if (len == size)
			break;
	}
	source->close(state, p);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	Pb__SysStatsConfig c = PB__SYS_STATS_CONFIG__INIT;
	struct sys_packet p = {.proc_root = "/nonexistent", .sys_root = "/nonexistent"};

	if (!data)
		return 0;
	p.w = writer_new(NULL, 1, WRITER_DROP);
	if (!p.w || extra_counters_init(&p.extras, "linux.sys_stats", p.w) < 0)
		abort();
	for (const struct sys_source *const *s = sys_sources; *s; s++)
		if ((*s)->parse)
			polls(&p, *s, &c, (const char *)data, size);
	while (sys_packet_flush(&p))
		;
	check_packets();
	sys_packet_deinit(&p);
	writer_free(p.w);
	return 0;
}
