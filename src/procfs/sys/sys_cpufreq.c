/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <stdlib.h>

#include "base/core/mem.h"
#include "gen/fields.h"
#include "procfs/sys/sys_cpus.h"
#include "procfs/sys/sys_file.h"
#include "procfs/sys/sys_source.h"
#include "base/text/sys_text.h"

/*
 * scaling_cur_freq of each CPU, in kHz. The field has no CPU number, only an order: the values are
 * gathered over the steps of the pass, and written together; one that cannot be read is 0.
 */

struct sys_cpufreq {
	struct sys_file *files; /* owned; one for each CPU up to the highest */
	size_t cap;
	uint32_t *khz; /* owned; the same */
	size_t cap_khz;
	struct sys_cpus cpus;
	uint32_t next; /* CPU, of this pass */
	bool any; /* has been read in this pass */
	struct sys_trouble trouble;
};

static int cpufreq_parse(void *state, struct sys_poll *p, struct span text)
{
	struct sys_cpufreq *s = state;
	uint64_t v;

	(void)p;
	if (!number_table_u64(&text, &v))
		return -EBADMSG;
	s->khz[s->next] = sys_value_u32(v);
	s->any = true;
	return 0;
}

static void write_all(struct sys_cpufreq *s, struct sys_poll *p)
{
	struct pb_enc *e;

	/* No driver: that is told, and zeros would say something else. */
	if (!s->any)
		return;
	e = sys_poll_packet(p);
	for (uint32_t i = 0; i < s->cpus.n; i++)
		pb_enc_u64(e, PB_SYS_STATS_CPUFREQ_KHZ, s->khz[i]);
	s->any = false;
}

/* Files for CPUs up to n, as far as memory goes. */
static void add_cpus(struct sys_cpufreq *s, struct sys_poll *p, uint32_t n)
{
	if (array_reserve(&s->files, &s->cap, n, sizeof(*s->files)) < 0 ||
	    array_reserve(&s->khz, &s->cap_khz, n, sizeof(*s->khz)) < 0)
		return;
	for (; s->cpus.n < n; s->cpus.n++)
		if (sys_file_init(&s->files[s->cpus.n], true, p->sys_root,
				  SYS_CPUS "/cpu%u/cpufreq/scaling_cur_freq", s->cpus.n) < 0)
			return;
}

static bool cpufreq_step(void *state, struct sys_poll *p)
{
	struct sys_cpufreq *s = state;
	uint32_t n;

	if (s->next == 0 && sys_cpus_have_grown(&s->cpus, p->sys_root, p->now, &n))
		add_cpus(s, p, n);
	if (s->cpus.n == 0) {
		sys_poll_no_cpus(p, &s->trouble);
		return false;
	}
	s->khz[s->next] = 0;
	sys_file_poll(&s->files[s->next], p, &s->trouble, cpufreq_parse, s);
	if (++s->next < s->cpus.n)
		return true;
	s->next = 0;
	write_all(s, p);
	return false;
}

static void cpufreq_close(void *state, struct sys_poll *p)
{
	struct sys_cpufreq *s = state;

	for (uint32_t i = 0; i < s->cpus.n; i++)
		sys_file_deinit(&s->files[i], p);
	free(s->files);
	free(s->khz);
	free(s);
}

static int cpufreq_open(struct sys_poll *p, const Pb__SysStatsConfig *c, void **ret_state)
{
	struct sys_cpufreq *s = calloc(1, sizeof(*s));

	(void)p;
	(void)c;
	if (!s)
		return -ENOMEM;
	s->trouble.what = "cpufreq";
	*ret_state = s;
	return 0;
}

const struct sys_source sys_cpufreq = {
	.name = "cpufreq",
	.period = offsetof(Pb__SysStatsConfig, cpufreq_period_ms),
	.open = cpufreq_open,
	.step = cpufreq_step,
	.close = cpufreq_close,
};
