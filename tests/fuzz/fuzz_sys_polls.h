/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdlib.h>

#include "base/system/log.h"
#include "fuzz_one_file.h"
#include "fuzz_sys_packets.h"
#include "procfs/sys/sys_source.h"
#include "unit/../unit/procfs/fake_proc.h"

/*
 * A whole fuzzer. The same bytes as every file of the includer's paths, for every table of its
 * sources: their first half, then all of them, as two polls through the files themselves. What
 * comes out must be messages.
 */

static const char *const paths[]; /* NULL at the end */
static const struct sys_source *const sources[]; /* NULL at the end */

int LLVMFuzzerInitialize(int *argc, char ***argv);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
	(void)argc;
	(void)argv;
	log_init("fuzz");
	log_set_level(LOG_LEVEL_ERROR);
	one_file_new(paths);
	return 0;
}

static void pass(struct sys_packet *p, struct sys_state *state)
{
	sys_packet_begin(p);
	while (sys_source_step(state, p))
		;
	sys_packet_end(p);
	check_packets();
}

static void polls(struct sys_packet *p, const struct sys_source *source,
		  const Pb__SysStatsConfig *c, const uint8_t *data, size_t size)
{
	struct sys_state *state = NULL;

	if (sys_source_open(source, p, c, &state) < 0)
		abort();
	one_file_put(data, size / 2);
	pass(p, state);
	one_file_put(data, size);
	pass(p, state);
	sys_source_close(state, p);
	p->errors = NULL; /* they were the source's */
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	Pb__SysStatsConfig c = PB__SYS_STATS_CONFIG__INIT;
	struct sys_packet p = {.proc_root = proc_root, .sys_root = proc_root};

	if (!data)
		return 0;
	p.w = writer_new(NULL, 1, WRITER_DROP);
	if (!p.w || extra_counters_init(&p.extras, "linux.sys_stats", p.w) < 0)
		abort();
	for (const struct sys_source *const *s = sources; *s; s++)
		polls(&p, *s, &c, data, size);
	if (p.fds != 0)
		abort();
	while (sys_packet_flush(&p))
		;
	check_packets();
	sys_packet_deinit(&p);
	writer_free(p.w);
	return 0;
}
