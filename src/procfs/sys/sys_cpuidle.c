/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/core/mem.h"
#include "base/text/number_table.h"
#include "gen/fields.h"
#include "procfs/sys/sys_file.h"
#include "procfs/sys/sys_names.h"
#include "procfs/sys/sys_source.h"

/*
 * cpuidle/stateN of each CPU: its name, read once, and the microseconds spent in it. A step serves
 * one CPU. A CPU without states (for instance offline) is checked again after ten seconds.
 */

/* The kernel has at most 10 (CPUIDLE_STATE_MAX). */
#define STATES_MAX 32

struct idle_state {
	char *name; /* owned */
	struct sys_file time;
};

struct idle_cpu {
	struct idle_state *states; /* owned */
	uint32_t n;
	uint64_t list_again; /* CLOCK_MONOTONIC */
};

struct sys_cpuidle {
	struct sys_state base;
	struct idle_cpu *all; /* owned; one for each CPU up to the highest */
	size_t cap;
	struct sys_cpus cpus;
	uint32_t next; /* next CPU of this pass */
};

static void sys_cpuidle_forget(struct idle_cpu *cpu, struct sys_packet *p)
{
	for (uint32_t i = 0; i < cpu->n; i++) {
		free(cpu->states[i].name);
		sys_file_deinit(&cpu->states[i].time, p);
	}
	free(cpu->states);
	*cpu = (struct idle_cpu){0};
}

static int cpuidle_open_state(struct idle_state *state, const char *folder, const char *name)
{
	_cleanup_(strbuf_deinit) struct strbuf text = {0};
	int r = sys_file_read_once(&text, folder, "%s/name", name);

	if (r < 0)
		return r;
	state->name = strbuf_take(&text);
	if (!state->name)
		return -ENOMEM;
	r = sys_file_init(&state->time, true, folder, "%s/time", name);
	if (r < 0)
		free(state->name);
	return r;
}

static int cpuidle_open_states(struct idle_cpu *cpu, const char *folder,
			       const struct sys_names *names)
{
	cpu->states = calloc(names->n + 1, sizeof(*cpu->states));
	if (!cpu->states)
		return -ENOMEM;
	for (size_t i = 0; i < names->n && i < STATES_MAX; i++) {
		int r = cpuidle_open_state(&cpu->states[cpu->n], folder, names->names[i]);

		if (r < 0)
			return r;
		cpu->n++;
	}
	return cpu->n > 0 ? 0 : -ENOENT;
}

static void cpuidle_list_states(struct sys_cpuidle *s, struct sys_packet *p, struct idle_cpu *cpu)
{
	struct sys_names names = {0};
	char folder[512];
	int r;

	snprintf(folder, sizeof(folder), "%s/" SYS_CPUS "/cpu%u/cpuidle", p->sys_root, s->next);
	r = sys_names_read(&names, folder, "state", true);
	if (r == 0)
		r = cpuidle_open_states(cpu, folder, &names);
	sys_names_deinit(&names);
	if (r == 0)
		return;
	sys_cpuidle_forget(cpu, p);
	cpu->list_again = p->now + SYS_FILE_RETRY_NS;
	sys_packet_count_error(p, &s->base.errors, folder, -r);
}

static void cpuidle_write_state(struct pb_enc *e, const struct idle_state *state, uint64_t us)
{
	pb_enc_open(e, PB_SYS_STATS_CPU_IDLE_STATE_CPUIDLE_STATE_ENTRY);
	pb_enc_str(e, PB_SYS_STATS_CPU_IDLE_STATE_ENTRY_STATE, state->name);
	pb_enc_u64(e, PB_SYS_STATS_CPU_IDLE_STATE_ENTRY_DURATION_US, us);
	pb_enc_close(e);
}

/* Reads all values first, so that a CPU that goes offline meanwhile leaves no empty message. */
static void cpuidle_poll_cpu(struct sys_cpuidle *s, struct sys_packet *p, struct idle_cpu *cpu)
{
	uint64_t us[STATES_MAX];
	struct pb_enc *e;

	for (uint32_t i = 0; i < cpu->n; i++) {
		struct sys_file *file = &cpu->states[i].time;
		struct span text;
		int r = sys_file_read(file, p, &text);

		if (r == 0 && !number_table_u64(&text, &us[i]))
			r = -EBADMSG;
		if (r == 0)
			continue;
		sys_packet_count_error(p, &s->base.errors, file->path, -r);
		sys_cpuidle_forget(cpu, p);
		cpu->list_again = p->now + SYS_FILE_RETRY_NS;
		return;
	}
	e = sys_packet_open(p);
	pb_enc_open(e, PB_SYS_STATS_CPUIDLE_STATE);
	pb_enc_u64(e, PB_SYS_STATS_CPU_IDLE_STATE_CPU_ID, s->next);
	for (uint32_t i = 0; i < cpu->n; i++)
		cpuidle_write_state(e, &cpu->states[i], us[i]);
	pb_enc_close(e);
}

static bool cpuidle_step(void *state, struct sys_packet *p)
{
	struct sys_cpuidle *s = state;
	struct idle_cpu *cpu;
	uint32_t n;

	if (s->next == 0 && sys_cpus_rescan(&s->cpus, p->sys_root, p->now, &n) &&
	    array_reserve(&s->all, &s->cap, n, sizeof(*s->all)) == 0)
		while (s->cpus.n < n)
			s->all[s->cpus.n++] = (struct idle_cpu){0};
	if (s->cpus.n == 0) {
		sys_packet_count_no_cpus(p, &s->base.errors);
		return false;
	}
	cpu = &s->all[s->next];
	if (cpu->n == 0 && p->now >= cpu->list_again)
		cpuidle_list_states(s, p, cpu);
	if (cpu->n > 0)
		cpuidle_poll_cpu(s, p, cpu);
	s->next = (s->next + 1) % s->cpus.n;
	return s->next > 0;
}

static void cpuidle_close(void *state, struct sys_packet *p)
{
	struct sys_cpuidle *s = state;

	for (uint32_t i = 0; i < s->cpus.n; i++)
		sys_cpuidle_forget(&s->all[i], p);
	free(s->all);
}

const struct sys_source sys_cpuidle = {
	.name = "cpuidle",
	.period = offsetof(Pb__SysStatsConfig, cpuidle_period_ms),
	.size = sizeof(struct sys_cpuidle),
	.step = cpuidle_step,
	.close = cpuidle_close,
};
