/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/core/mem.h"
#include "base/text/number_table.h"
#include "gen/fields.h"
#include "procfs/sys/sys_file.h"
#include "procfs/sys/sys_source.h"

/*
 * The frequency of each GPU in MHz, if its driver reports it: Adreno (kgsl) in Hz, Intel in MHz,
 * AMD as the marked line of a table, "1: 700Mhz *". The field has no GPU id, only an order: Adreno
 * first, then the cards. If a poll finds no file, it searches again every ten seconds.
 */

#define CARDS 16
#define GPUS_MAX (1 + CARDS)

enum gpu_format { GPU_HZ, GPU_MHZ, GPU_TABLE };

struct gpu {
	struct sys_file file;
	enum gpu_format format;
};

struct sys_gpufreq {
	struct sys_state base;
	struct gpu gpus[GPUS_MAX];
	unsigned n;
	unsigned next; /* next GPU of this pass */
	uint64_t mhz[GPUS_MAX]; /* of this pass */
	bool any; /* a value was read in this pass */
	uint64_t list_again; /* CLOCK_MONOTONIC */
};

/* Parses the current frequency, which is in the line that ends with a star. */
static int parse_current_frequency(struct span text, uint64_t *ret_mhz)
{
	struct span line, index;
	size_t digits = 0;

	while (span_next_line(&text, &line)) {
		line = span_trim(line);
		if (!span_ends(line, "*") || !span_next_word(&line, &index))
			continue;
		line = span_trim(line);
		while (digits < line.len && line.p[digits] >= '0' && line.p[digits] <= '9')
			digits++;
		line.len = digits;
		return number_table_u64(&line, ret_mhz) ? 0 : -EBADMSG;
	}
	return -EBADMSG;
}

static int gpufreq_parse(void *state, struct sys_packet *p, struct span text)
{
	struct sys_gpufreq *s = state;
	uint64_t *mhz = &s->mhz[s->next];

	int r = 0;

	(void)p;
	if (s->gpus[s->next].format == GPU_TABLE)
		r = parse_current_frequency(text, mhz);
	else if (!number_table_u64(&text, mhz))
		r = -EBADMSG;
	else if (s->gpus[s->next].format == GPU_HZ)
		*mhz /= 1000000;
	s->any = s->any || r == 0;
	return r;
}

/* ---- the list of GPUs ---- */

static bool try_file(struct sys_gpufreq *s, struct sys_packet *p, enum gpu_format format,
		     const char *name)
{
	struct gpu *gpu = &s->gpus[s->n];

	if (sys_file_init(&gpu->file, true, p->sys_root, "%s", name) < 0)
		return false;
	if (access(gpu->file.path, F_OK) != 0) {
		sys_file_deinit(&gpu->file, p);
		return false;
	}
	gpu->format = format;
	s->n++;
	return true;
}

static void sys_gpufreq_forget(struct sys_gpufreq *s, struct sys_packet *p)
{
	for (unsigned i = 0; i < s->n; i++)
		sys_file_deinit(&s->gpus[i].file, p);
	s->n = 0;
}

static void list_gpus(struct sys_gpufreq *s, struct sys_packet *p)
{
	char name[96];

	s->list_again = p->now + SYS_FILE_RETRY_NS;
	try_file(s, p, GPU_HZ, "class/kgsl/kgsl-3d0/devfreq/cur_freq");
	for (unsigned card = 0; card < CARDS; card++) {
		snprintf(name, sizeof(name), "class/drm/card%u/gt_act_freq_mhz", card);
		if (try_file(s, p, GPU_MHZ, name))
			continue;
		snprintf(name, sizeof(name), "class/drm/card%u/device/pp_dpm_sclk", card);
		try_file(s, p, GPU_TABLE, name);
	}
	if (s->n > 0)
		return;
	snprintf(name, sizeof(name), "%.48s/class/drm/card*/gt_act_freq_mhz", p->sys_root);
	sys_packet_count_error(p, &s->base.errors, name, ENOENT);
}

/* ---- the source ---- */

static void sys_gpufreq_write_all(struct sys_gpufreq *s, struct sys_packet *p)
{
	struct pb_enc *e;

	if (!s->any) {
		/* All GPUs were removed; others may appear. */
		sys_gpufreq_forget(s, p);
		return;
	}
	e = sys_packet_open(p);
	for (unsigned i = 0; i < s->n; i++)
		pb_enc_u64(e, PB_SYS_STATS_GPUFREQ_MHZ, s->mhz[i]);
	s->any = false;
}

static bool gpufreq_step(void *state, struct sys_packet *p)
{
	struct sys_gpufreq *s = state;

	if (s->n == 0 && p->now >= s->list_again)
		list_gpus(s, p);
	if (s->n == 0)
		return false;
	s->mhz[s->next] = 0;
	sys_file_poll(&s->gpus[s->next].file, p, &s->base.errors, gpufreq_parse, s);
	s->next = (s->next + 1) % s->n;
	if (s->next > 0)
		return true;
	sys_gpufreq_write_all(s, p);
	return false;
}

static void gpufreq_close(void *state, struct sys_packet *p)
{
	sys_gpufreq_forget(state, p);
}

const struct sys_source sys_gpufreq = {
	.name = "gpufreq",
	.period = offsetof(Pb__SysStatsConfig, gpufreq_period_ms),
	.size = sizeof(struct sys_gpufreq),
	.step = gpufreq_step,
	.close = gpufreq_close,
};
