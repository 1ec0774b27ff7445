/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/core/clock.h"
#include "base/core/mem.h"
#include "base/text/number_table.h"
#include "gen/fields.h"
#include "procfs/sys/sys_file.h"
#include "procfs/sys/sys_names.h"
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
	bool guests; /* times of guests are wanted */
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

/* Parses the line of a CPU: its times from user to steal, whose fields have this order, then those of
 * guests. */
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
	if (number_table_take(&line, "cpu"))
		return s->cpu_times && line.len > 0 && line.p[0] != ' ' ? parse_cpu(s, p, line) : 0;
	if (s->irqs && number_table_take(&line, "intr "))
		return parse_counts(p, line, PB_SYS_STATS_NUM_IRQ_TOTAL, PB_SYS_STATS_NUM_IRQ,
				    false);
	if (s->softirqs && number_table_take(&line, "softirq "))
		return parse_counts(p, line, PB_SYS_STATS_NUM_SOFTIRQ_TOTAL,
				    PB_SYS_STATS_NUM_SOFTIRQ, true);
	if (s->forks && number_table_take(&line, "processes "))
		return parse_forks(p, line);
	for (size_t i = 0; i < ARRAY_SIZE(stat_extras); i++)
		if (number_table_take(&line, stat_extras[i].word))
			return parse_extra(p, line, s->extras[i]);
	return 0;
}

/* Returns true if the line begins with a known word, selected or not. */
static bool sys_stat_is_known(struct span line)
{
	static const char *const words[] = {"cpu", "intr ", "softirq ", "processes "};

	for (size_t i = 0; i < ARRAY_SIZE(words); i++)
		if (number_table_take(&line, words[i]))
			return true;
	for (size_t i = 0; i < ARRAY_SIZE(stat_extras); i++)
		if (number_table_take(&line, stat_extras[i].word))
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

static void choose_all(struct sys_stat *s, struct sys_packet *p)
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

static void sys_stat_choose(struct sys_stat *s, int counter, struct unknown_ids *unknown)
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
		unknown_ids_log(unknown, "stat", counter);
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
		choose_all(s, p);
	for (size_t i = 0; i < c->n_stat_counters; i++)
		sys_stat_choose(s, (int)c->stat_counters[i], &unknown);
	return 0;
}

static void stat_close(void *state, struct sys_packet *p)
{
	struct sys_stat *s = state;

	(void)p;
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
