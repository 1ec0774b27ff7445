/* SPDX-License-Identifier: Apache-2.0 */
/* CPUs: /proc/stat, their frequencies, and their idle states. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/core/clock.h"
#include "base/core/mem.h"
#include "base/text/number_table.h"
#include "gen/fields.h"
#include "procfs/sys/sys_file.h"
#include "procfs/sys/sys_packet.h"
#include "procfs/sys/sys_source.h"

/*
 * /proc/stat: a line for each CPU with its times, and one line each for interrupts and softirqs,
 * which have tens of kilobytes of zeros on large machines. Lines are identified by their first
 * word; unknown lines are skipped.
 */

/* The id of an interrupt is its position in the line; higher ids are skipped. */
#define IRQS_MAX (1u << 20)

/* Lines of one number without a field in SysStats: each is an extra counter. To add one, add a
 * row. */
static const struct stat_extra {
	const char *word; /* the first word of its line, and a blank */
	bool total;
} stat_extras[] = {
	{"ctxt ", true},
	{"procs_running ", false},
	{"procs_blocked ", false},
};

struct sys_stat {
	struct sys_state base;
	bool cpu_times, irqs, softirqs, forks;
	uint64_t ns_per_tick;
	/* EXTRA_COUNTER_NONE if they are not selected */
	uint32_t extras[ARRAY_SIZE(stat_extras)];
	bool guests; /* times of guests are recorded */
	uint32_t group; /* group of all extra counters */
	struct guest_times *of_cpu; /* owned; by CPU */
	size_t n_cpus, cap_cpus;
};

/* Time of guests, which is included in user and nice. */
#define GUEST_TIMES 2

struct guest_times {
	uint32_t counters[GUEST_TIMES]; /* slots of extra_counters_set_in_slot */
};

static struct guest_times *get_guest_times(struct sys_stat *s, uint64_t cpu)
{
	if (cpu >= SYS_CPUS_MAX ||
	    array_reserve(&s->of_cpu, &s->cap_cpus, cpu + 1, sizeof(*s->of_cpu)) < 0)
		return NULL;
	while (s->n_cpus <= cpu)
		s->of_cpu[s->n_cpus++] = (struct guest_times){0};
	return &s->of_cpu[cpu];
}

/* Parses the times of guests: columns without a field. Kernels before 2.6.33 have none or one. */
static int parse_guests(struct sys_stat *s, struct sys_packet *p, uint64_t cpu, struct span line)
{
	static const struct span names[GUEST_TIMES] = {{"guest", 5}, {"guest_nice", 10}};
	static const struct track_spec ns = {.unit = TRACK_UNIT_NS, .total = true};
	struct guest_times *g = get_guest_times(s, cpu);
	uint32_t group = TRACK_VOID;
	uint64_t v;

	if (!g)
		return -E2BIG;
	if (!g->counters[0])
		group = extra_counters_add_cpu(&p->extras, s->group, (uint32_t)cpu);
	for (unsigned i = 0; i < GUEST_TIMES && number_table_u64(&line, &v); i++)
		if (!extra_counters_set_in_slot(&p->extras, &g->counters[i], group, names[i], &ns,
						sys_clamp_i64(v * s->ns_per_tick)))
			return -E2BIG;
	return 0;
}

/* Parses the line of a CPU: its times from user to steal, whose fields have this order, then those
 * of guests. */
static int parse_cpu(struct sys_stat *s, struct sys_packet *p, struct span line)
{
	struct pb_enc *e;
	uint64_t cpu, v;

	if (!number_table_u64(&line, &cpu))
		return -EBADMSG;
	e = sys_packet_open(p);
	pb_enc_open(e, PB_SYS_STATS_CPU_STAT);
	pb_enc_u64(e, PB_SYS_STATS_CPU_TIMES_CPU_ID, sys_clamp_u32(cpu));
	for (uint32_t field = PB_SYS_STATS_CPU_TIMES_USER_NS;
	     field <= PB_SYS_STATS_CPU_TIMES_STEAL_NS && number_table_u64(&line, &v); field++)
		pb_enc_u64(e, field, v * s->ns_per_tick);
	pb_enc_close(e);
	return s->guests ? parse_guests(s, p, cpu, line) : 0;
}

/* Parses "TOTAL COUNT COUNT ...". zeros: also writes counts of 0. */
static int parse_counts(struct sys_packet *p, struct span line, uint32_t total_field,
			uint32_t field, bool zeros)
{
	struct pb_enc *e;
	uint64_t v;

	if (!number_table_u64(&line, &v))
		return -EBADMSG;
	e = sys_packet_open(p);
	pb_enc_u64(e, total_field, v);
	for (uint32_t i = 0; i < IRQS_MAX; i++) {
		/* The common case: skip a run of zeros. */
		while (!zeros && line.len >= 3 && memcmp(line.p, " 0 ", 3) == 0) {
			line = (struct span){line.p + 2, line.len - 2};
			i++;
		}
		if (!number_table_u64(&line, &v))
			break;
		if (v || zeros)
			sys_put_pair(e, field, i, v);
	}
	return span_trim(line).len == 0 ? 0 : -EBADMSG;
}

static int parse_forks(struct sys_packet *p, struct span line)
{
	uint64_t v;

	if (!number_table_u64(&line, &v))
		return -EBADMSG;
	pb_enc_u64(sys_packet_open(p), PB_SYS_STATS_NUM_FORKS, v);
	return 0;
}

static int parse_extra(struct sys_packet *p, struct span line, uint32_t counter)
{
	uint64_t v;

	if (!number_table_u64(&line, &v))
		return -EBADMSG;
	extra_counters_set(&p->extras, counter, sys_clamp_i64(v));
	return 0;
}

static int sys_stat_parse_line(struct sys_stat *s, struct sys_packet *p, struct span line)
{
	if (number_table_cut_prefix(&line, "cpu"))
		return s->cpu_times && line.len > 0 && line.p[0] != ' ' ? parse_cpu(s, p, line) : 0;
	if (s->irqs && number_table_cut_prefix(&line, "intr "))
		return parse_counts(p, line, PB_SYS_STATS_NUM_IRQ_TOTAL, PB_SYS_STATS_NUM_IRQ,
				    false);
	if (s->softirqs && number_table_cut_prefix(&line, "softirq "))
		return parse_counts(p, line, PB_SYS_STATS_NUM_SOFTIRQ_TOTAL,
				    PB_SYS_STATS_NUM_SOFTIRQ, true);
	if (s->forks && number_table_cut_prefix(&line, "processes "))
		return parse_forks(p, line);
	for (size_t i = 0; i < ARRAY_SIZE(stat_extras); i++)
		if (number_table_cut_prefix(&line, stat_extras[i].word))
			return parse_extra(p, line, s->extras[i]);
	return 0;
}

/* Returns true if the line begins with a known word, selected or not. */
static bool sys_stat_is_known(struct span line)
{
	static const char *const words[] = {"cpu", "intr ", "softirq ", "processes "};

	for (size_t i = 0; i < ARRAY_SIZE(words); i++)
		if (number_table_cut_prefix(&line, words[i]))
			return true;
	for (size_t i = 0; i < ARRAY_SIZE(stat_extras); i++)
		if (number_table_cut_prefix(&line, stat_extras[i].word))
			return true;
	return false;
}

static int stat_parse(void *state, struct sys_packet *p, struct span text)
{
	struct span line;
	int r = 0;
	bool any = false;

	while (number_table_line(&text, &line)) {
		int bad = sys_stat_parse_line(state, p, line);

		r = bad ? bad : r;
		any = any || sys_stat_is_known(line);
	}
	return !any || text.len > 0 ? -EBADMSG : r;
}

static void select_all_counters(struct sys_stat *s, struct sys_packet *p)
{
	s->group = extra_counters_add_group(&p->extras, "stat");
	s->guests = s->cpu_times = s->irqs = s->softirqs = s->forks = true;
	for (size_t i = 0; i < ARRAY_SIZE(stat_extras); i++) {
		const struct track_spec kind = {.unit = TRACK_UNIT_COUNT,
						.total = stat_extras[i].total};
		const char *word = stat_extras[i].word;

		s->extras[i] = extra_counters_find_or_add(
			&p->extras, s->group, (struct span){word, strlen(word) - 1}, &kind);
	}
}

static void sys_stat_select_counter(struct sys_stat *s, int counter, struct unknown_ids *unknown)
{
	switch (counter) {
	case PB__SYS_STATS_CONFIG__STAT_COUNTERS__STAT_CPU_TIMES:
		s->cpu_times = true;
		break;
	case PB__SYS_STATS_CONFIG__STAT_COUNTERS__STAT_IRQ_COUNTS:
		s->irqs = true;
		break;
	case PB__SYS_STATS_CONFIG__STAT_COUNTERS__STAT_SOFTIRQ_COUNTS:
		s->softirqs = true;
		break;
	case PB__SYS_STATS_CONFIG__STAT_COUNTERS__STAT_FORK_COUNT:
		s->forks = true;
		break;
	default:
		sys_packet_log_unknown_id(unknown, "stat", counter);
	}
}

static int stat_open(void *state, struct sys_packet *p, const Pb__SysStatsConfig *c)
{
	struct sys_stat *s = state;
	struct unknown_ids unknown = {0};
	long hz = sysconf(_SC_CLK_TCK);

	s->ns_per_tick = NS_PER_S / (uint64_t)(hz > 0 ? hz : 100);
	for (size_t i = 0; i < ARRAY_SIZE(stat_extras); i++)
		s->extras[i] = EXTRA_COUNTER_NONE;
	if (c->n_stat_counters == 0)
		select_all_counters(s, p);
	for (size_t i = 0; i < c->n_stat_counters; i++)
		sys_stat_select_counter(s, (int)c->stat_counters[i], &unknown);
	return 0;
}

static void stat_close(void *state, struct sys_packet *p)
{
	struct sys_stat *s = state;

	free(s->of_cpu);
}

const struct sys_source sys_stat = {
	.name = "stat",
	.period = offsetof(Pb__SysStatsConfig, stat_period_ms),
	.size = sizeof(struct sys_stat),
	.file = "stat",
	.whole = true,
	.parse = stat_parse,
	.open = stat_open,
	.close = stat_close,
};

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
		sys_packet_report_no_cpus(p, &s->base.errors);
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

static void sys_cpuidle_free_states(struct idle_cpu *cpu, struct sys_packet *p)
{
	for (uint32_t i = 0; i < cpu->n; i++) {
		free(cpu->states[i].name);
		sys_file_deinit(&cpu->states[i].time, p);
	}
	free(cpu->states);
	*cpu = (struct idle_cpu){0};
}

static int cpuidle_open_state(struct idle_state *state, const char *dir, const char *name)
{
	_cleanup_(strbuf_deinit) struct strbuf text = {0};
	int r = sys_file_read_once(&text, dir, "%s/name", name);

	if (r < 0)
		return r;
	state->name = strbuf_take(&text);
	if (!state->name)
		return -ENOMEM;
	r = sys_file_init(&state->time, true, dir, "%s/time", name);
	if (r < 0)
		free(state->name);
	return r;
}

static int cpuidle_open_states(struct idle_cpu *cpu, const char *dir, const struct sys_names *names)
{
	cpu->states = calloc(names->n + 1, sizeof(*cpu->states));
	if (!cpu->states)
		return -ENOMEM;
	for (size_t i = 0; i < names->n && i < STATES_MAX; i++) {
		int r = cpuidle_open_state(&cpu->states[cpu->n], dir, names->names[i]);

		if (r < 0)
			return r;
		cpu->n++;
	}
	return cpu->n > 0 ? 0 : -ENOENT;
}

static void cpuidle_list_states(struct sys_cpuidle *s, struct sys_packet *p, struct idle_cpu *cpu)
{
	struct sys_names names = {0};
	char dir[512];
	int r;

	snprintf(dir, sizeof(dir), "%s/" SYS_CPUS "/cpu%u/cpuidle", p->sys_root, s->next);
	r = sys_names_read(&names, dir, "state", true);
	if (r == 0)
		r = cpuidle_open_states(cpu, dir, &names);
	sys_names_deinit(&names);
	if (r == 0)
		return;
	sys_cpuidle_free_states(cpu, p);
	cpu->list_again = p->now + SYS_FILE_RETRY_NS;
	sys_packet_count_error(p, &s->base.errors, dir, -r);
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
		sys_cpuidle_free_states(cpu, p);
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
		sys_packet_report_no_cpus(p, &s->base.errors);
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
		sys_cpuidle_free_states(&s->all[i], p);
	free(s->all);
}

const struct sys_source sys_cpuidle = {
	.name = "cpuidle",
	.period = offsetof(Pb__SysStatsConfig, cpuidle_period_ms),
	.size = sizeof(struct sys_cpuidle),
	.step = cpuidle_step,
	.close = cpuidle_close,
};
