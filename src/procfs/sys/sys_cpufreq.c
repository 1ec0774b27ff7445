/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <stdlib.h>

#include "base/core/mem.h"
#include "base/text/number_table.h"
#include "gen/fields.h"
#include "procfs/sys/sys_file.h"
#include "procfs/sys/sys_names.h"
#include "procfs/sys/sys_source.h"

/*
 * scaling_cur_freq of each CPU, in kHz. The field has no CPU id, only an order. So the values are
 * collected over the steps of a pass and written together; an unreadable one is 0.
 */

struct sys_cpufreq {
	struct sys_state base;
	struct sys_file *files; /* owned; one for each CPU up to the highest */
	size_t cap;
	uint32_t *khz; /* owned; one for each CPU */
	size_t cap_khz;
	struct sys_cpus cpus;
	uint32_t next; /* next CPU of this pass */
	bool any; /* a value was read in this pass */
};

static int cpufreq_parse(void *state, struct sys_packet *p, struct span text)
{
	struct sys_cpufreq *s = state;
	uint64_t v;

	(void)p;
	if (!number_table_u64(&text, &v))
		return -EBADMSG;
	s->khz[s->next] = sys_clamp_u32(v);
	s->any = true;
	return 0;
}

static void sys_cpufreq_write(struct sys_cpufreq *s, struct sys_packet *p)
{
	struct pb_enc *e;

	/* Without a driver no CPU has a value: this was logged, and zeros would be wrong. */
	if (!s->any)
		return;
	e = sys_packet_open(p);
	for (uint32_t i = 0; i < s->cpus.n; i++)
		pb_enc_u64(e, PB_SYS_STATS_CPUFREQ_KHZ, s->khz[i]);
	s->any = false;
}

/* Adds the files of CPUs up to n, as far as memory allows. */
static void sys_cpufreq_add_cpus(struct sys_cpufreq *s, struct sys_packet *p, uint32_t n)
{
	if (array_reserve(&s->files, &s->cap, n, sizeof(*s->files)) < 0 ||
	    array_reserve(&s->khz, &s->cap_khz, n, sizeof(*s->khz)) < 0)
		return;
	for (; s->cpus.n < n; s->cpus.n++)
		if (sys_file_init(&s->files[s->cpus.n], true, p->sys_root,
				  SYS_CPUS "/cpu%u/cpufreq/scaling_cur_freq", s->cpus.n) < 0)
			return;
}

static bool cpufreq_step(void *state, struct sys_packet *p)
{
	struct sys_cpufreq *s = state;
	uint32_t n;

	if (s->next == 0 && sys_cpus_rescan(&s->cpus, p->sys_root, p->now, &n))
		sys_cpufreq_add_cpus(s, p, n);
	if (s->cpus.n == 0) {
		sys_packet_count_no_cpus(p, &s->base.errors);
		return false;
	}
	s->khz[s->next] = 0;
	sys_file_poll(&s->files[s->next], p, &s->base.errors, cpufreq_parse, s);
	if (++s->next < s->cpus.n)
		return true;
	s->next = 0;
	sys_cpufreq_write(s, p);
	return false;
}

static void cpufreq_close(void *state, struct sys_packet *p)
{
	struct sys_cpufreq *s = state;

	for (uint32_t i = 0; i < s->cpus.n; i++)
		sys_file_deinit(&s->files[i], p);
	free(s->files);
	free(s->khz);
}

const struct sys_source sys_cpufreq = {
	.name = "cpufreq",
	.period = offsetof(Pb__SysStatsConfig, cpufreq_period_ms),
	.size = sizeof(struct sys_cpufreq),
	.step = cpufreq_step,
	.close = cpufreq_close,
};
