/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <stdlib.h>

#include "gen/fields.h"
#include "procfs/sys_cpus.h"
#include "procfs/sys_file.h"
#include "procfs/sys_source.h"
#include "procfs/sys_text.h"
#include "procfs/sys_value.h"

/*
 * scaling_cur_freq of each CPU, in kHz. The field has no CPU number, only an order: the values are
 * gathered over the steps of the pass, and written together; one that cannot be read is 0.
 */

struct sys_cpufreq {
	struct sys_file *files; /* owned; one for each CPU up to the highest */
	uint32_t *khz; /* owned; the same */
	uint32_t n;
	uint32_t next; /* CPU, of this pass */
	bool any; /* has been read in this pass */
	struct sys_trouble trouble;
};

static int cpufreq_parse(void *state, struct sys_poll *p, struct span text)
{
	struct sys_cpufreq *s = state;
	uint64_t v;

	(void)p;
	if (!sys_text_u64(&text, &v))
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
	for (uint32_t i = 0; i < s->n; i++)
		pb_enc_u64(e, PB_SYS_STATS_CPUFREQ_KHZ, s->khz[i]);
	s->any = false;
}

static bool cpufreq_step(void *state, struct sys_poll *p)
{
	struct sys_cpufreq *s = state;

	if (s->n == 0)
		return false;
	s->khz[s->next] = 0;
	sys_file_poll(&s->files[s->next], p, &s->trouble, cpufreq_parse, s);
	if (++s->next < s->n)
		return true;
	s->next = 0;
	write_all(s, p);
	return false;
}

static void cpufreq_close(void *state, struct sys_poll *p)
{
	struct sys_cpufreq *s = state;

	for (uint32_t i = 0; s->files && i < s->n; i++)
		sys_file_deinit(&s->files[i], p);
	free(s->files);
	free(s->khz);
	free(s);
}

static int open_files(struct sys_cpufreq *s, struct sys_poll *p)
{
	s->files = calloc(s->n + 1, sizeof(*s->files));
	s->khz = calloc(s->n + 1, sizeof(*s->khz));
	if (!s->files || !s->khz)
		return -ENOMEM;
	for (uint32_t i = 0; i < s->n; i++) {
		int r = sys_file_init(&s->files[i], true, p->sys_root,
				      SYS_CPUS "/cpu%u/cpufreq/scaling_cur_freq", i);

		if (r < 0)
			return r;
	}
	return 0;
}

static int cpufreq_open(struct sys_poll *p, const Pb__SysStatsConfig *c, void **ret_state)
{
	struct sys_cpufreq *s = calloc(1, sizeof(*s));
	int r;

	(void)c;
	if (!s)
		return -ENOMEM;
	s->trouble.what = "cpufreq";
	s->n = sys_cpus_count(p->sys_root);
	r = open_files(s, p);
	if (r < 0) {
		cpufreq_close(s, p);
		return r;
	}
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
