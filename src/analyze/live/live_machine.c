/* SPDX-License-Identifier: Apache-2.0 */
/* linux.sys_stats, the run queues of the CPUs, and what linux.ebpf_counters could not count. */
#include "analyze/live/live_internal.h"

#include <string.h>

#include "base/core/mem.h"
#include "common/sys_stats_counters.pb-c.h"
#include "gen/fields.h"

/* ---- sys_stats ---- */

/* CpuTimes: user_ns is the second field, and the others follow in the order of /proc/stat. */
enum { USER, NICE, SYSTEM, IDLE, IOWAIT, IRQ, SOFTIRQ, STEAL };

static void live_machine_read_cpu(struct live *l, const struct pb_field *message)
{
	pb_for_each (f, message)
		if (f.id >= PB_SYS_STATS_CPU_TIMES_USER_NS &&
		    f.id < PB_SYS_STATS_CPU_TIMES_USER_NS + LIVE_CPU_TIMES)
			l->cpu_times[f.id - PB_SYS_STATS_CPU_TIMES_USER_NS] += f.u64;
}

static void read_meminfo_value(const struct pb_field *message, uint64_t *ret_key,
			       uint64_t *ret_value)
{
	*ret_key = *ret_value = 0;
	pb_read(message, PB_TO(PB_SYS_STATS_MEMINFO_VALUE_KEY, ret_key),
		PB_TO(PB_SYS_STATS_MEMINFO_VALUE_VALUE, ret_value));
}

_Static_assert(PB_SYS_STATS_MEMINFO_VALUE_KEY == PB_SYS_STATS_PSI_SAMPLE_RESOURCE &&
		       PB_SYS_STATS_MEMINFO_VALUE_VALUE == PB_SYS_STATS_PSI_SAMPLE_TOTAL_NS,
	       "both are pairs of the same form");

static void live_machine_read_memory(struct live *l, const struct pb_field *message)
{
	struct live_machine *m = &l->machine;
	uint64_t key, kb;

	read_meminfo_value(message, &key, &kb);
	m->has_memory = true;
	if (key == PB__MEMINFO_COUNTERS__MEMINFO_MEM_TOTAL)
		m->memory_total = kb << 10;
	else if (key == PB__MEMINFO_COUNTERS__MEMINFO_MEM_AVAILABLE)
		m->memory_available = kb << 10;
	else if (key == PB__MEMINFO_COUNTERS__MEMINFO_SWAP_TOTAL)
		m->swap_total = kb << 10;
	else if (key == PB__MEMINFO_COUNTERS__MEMINFO_SWAP_FREE)
		m->swap_free = kb << 10;
}

static void read_pressure(struct live *l, const struct pb_field *message, uint64_t at)
{
	/* PsiResource: CPU_SOME, IO_SOME, MEMORY_SOME. */
	static const uint64_t some[] = {1, 3, 5};
	uint64_t key, ns;

	read_meminfo_value(message, &key, &ns);
	for (size_t i = 0; i < ARRAY_SIZE(some); i++) {
		struct live_value *v = &l->psi[i];

		if (key != some[i])
			continue;
		if (!v->has_total)
			v->total = v->base = ns;
		live_add_growth(v, ns >= v->total ? ns - v->total : 0, at, at);
	}
}

void live_read_sys_stats(struct live *l, const struct packet *p)
{
	unsigned cpus = 0;

	pb_for_each (f, &p->payload) {
		if (!f.data)
			continue;
		if (f.id == PB_SYS_STATS_CPU_STAT) {
			if (!cpus++)
				memset(l->cpu_times, 0, sizeof(l->cpu_times));
			live_machine_read_cpu(l, &f);
		} else if (f.id == PB_SYS_STATS_MEMINFO) {
			live_machine_read_memory(l, &f);
		} else if (f.id == PB_SYS_STATS_PSI) {
			read_pressure(l, &f, p->timestamp);
		}
	}
	if (cpus) {
		l->machine.cpus = cpus;
		l->has_cpu_times = true;
	}
	live_set_poll_time(l, LIVE_SYS_STATS, p->timestamp);
}

/* ---- failures of linux.ebpf_counters ---- */

/* A failure is reported again whenever the state was cleared, so a line may be there already. */
void live_add_failure(struct live *l, struct strbuf *line)
{
	if (!line->s)
		return;
	str_make_plain(line->s, line->len, "");
	if (l->failures.s && strstr(l->failures.s, line->s))
		return;
	strbuf_puts(&l->failures, line->s);
	strbuf_putc(&l->failures, '\n');
}

static void read_failure(struct live *l, const struct pb_field *message)
{
	struct pb_field what = {0}, reason = {0};
	struct strbuf line = {0};
	bool is_count = false;

	pb_for_each (f, message) {
		if (f.id == PB_EBPF_COUNTERS_STATS_FAILURE_WHAT && f.data)
			what = f;
		else if (f.id == PB_EBPF_COUNTERS_STATS_FAILURE_COUNT)
			is_count = true;
		else if (f.id == PB_EBPF_COUNTERS_STATS_FAILURE_REASON && f.data)
			reason = f;
	}
	if (!what.data || !reason.data)
		return;
	/* A failure with a count is a loss of a family that runs. */
	l->lacks_cpu_time |=
		!is_count && (pb_field_is(&what, "cpu_time") || pb_field_is(&what, "all families"));
	if (!is_count && pb_field_is(&what, "processes")) {
		l->lacks_processes = true;
		return; /* linux.process_stats has the same values */
	}
	strbuf_add(&line, what.data, what.len);
	strbuf_puts(&line, ": ");
	strbuf_add(&line, reason.data, reason.len);
	live_add_failure(l, &line);
	strbuf_deinit(&line);
}

void live_read_failures(struct live *l, const struct packet *p)
{
	pb_for_each (f, &p->payload)
		if (f.id == PB_EBPF_COUNTERS_STATS_FAILURES && f.data)
			read_failure(l, &f);
}

/* ---- the screen ---- */

static void compute_cpu_shares(struct live *l)
{
	struct live_machine *m = &l->machine;
	double part[LIVE_CPU_TIMES], sum = 0;

	if (!l->has_cpu_times)
		return;
	for (size_t i = 0; i < LIVE_CPU_TIMES; i++) {
		uint64_t now = l->cpu_times[i], base = l->cpu_base[i];

		part[i] = now > base ? (double)(now - base) : 0;
		sum += part[i];
	}
	if (l->has_cpu_base && sum == 0)
		return; /* no poll since the last screen */
	memcpy(l->cpu_base, l->cpu_times, sizeof(l->cpu_base));
	if (!l->has_cpu_base) {
		l->has_cpu_base = true;
		return;
	}
	m->has_cpu = true;
	m->user = (part[USER] + part[NICE]) / sum;
	m->system = part[SYSTEM] / sum;
	m->irq = (part[IRQ] + part[SOFTIRQ]) / sum;
	m->iowait = part[IOWAIT] / sum;
	m->steal = part[STEAL] / sum;
	m->idle = part[IDLE] / sum;
}

static void compute_pressure_rates(struct live *l)
{
	double *const shares[] = {&l->machine.pressure_cpu, &l->machine.pressure_io,
				  &l->machine.pressure_memory};

	for (size_t i = 0; i < ARRAY_SIZE(shares); i++) {
		struct live_value *v = &l->psi[i];

		live_compute_rate(v, 0);
		*shares[i] = MIN(v->rate / 1e9, 1.0);
		l->machine.has_pressure |= v->has_rate;
	}
}

static void compute_run_queues(struct live *l)
{
	struct live_machine *m = &l->machine;

	m->depth = m->depth_max = m->runq_p99_ns = m->runq_max_ns = m->switches = 0;
	for (size_t i = 0; i < l->n_cpus; i++) {
		struct live_cpu *c = &l->cpus[i];

		if (!c->is_seen)
			continue;
		m->has_runq = true;
		live_compute_rate(&c->switches, l->before[LIVE_EBPF]);
		m->switches += c->switches.rate;
		m->depth += c->gauges[LIVE_DEPTH];
		m->depth_max = MAX(m->depth_max, c->gauges[LIVE_DEPTH_MAX]);
		if (c->gauges[LIVE_RUNQ_P99] > m->runq_p99_ns) {
			m->runq_p99_ns = c->gauges[LIVE_RUNQ_P99];
			m->runq_p99_cpu = (unsigned)i;
		}
		if (c->gauges[LIVE_RUNQ_MAX] > m->runq_max_ns) {
			m->runq_max_ns = c->gauges[LIVE_RUNQ_MAX];
			m->runq_max_cpu = (unsigned)i;
		}
	}
}

static void format_losses(struct live *l)
{
	struct strbuf *b = &l->losses.counters;
	struct live_track *t, *next;

	strbuf_clear(b);
	HASH_ITER (hh, l->tracks, t, next)
		if (t->kind == LIVE_TRACK_LOST && t->last)
			strbuf_printf(b, "%s%s %llu", b->len ? ", " : "", t->name,
				      (unsigned long long)t->last);
}

void live_machine_end_period(struct live *l)
{
	compute_cpu_shares(l);
	compute_pressure_rates(l);
	compute_run_queues(l);
	format_losses(l);
}
