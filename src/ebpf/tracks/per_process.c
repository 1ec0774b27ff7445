/* SPDX-License-Identifier: Apache-2.0 */
#include "ebpf/tracks/per_process.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/core/clock.h"
#include "base/core/mem.h"
#include "bpf/process.h"
#include "bpf/settings.h"
#include "ebpf/engine/object.h"
#include "ebpf/tracks/counter.h"
#include "ebpf/tracks/process_rows.h"

static void process_sums_deinit(struct process_sums *s)
{
	HASH_FREE(s->all);
}

/* Begins a period. now: CLOCK_BOOTTIME, used for spans. */
static void process_sums_begin(struct process_sums *s, uint64_t now)
{
	s->period++;
	s->cpu_ns = s->now ? (now - s->now) * s->n_cpus : UINT64_MAX;
	s->now = now;
}

static struct process_sum *find_or_add_sum(struct process_sums *s, uint32_t pid)
{
	struct process_sum *p;

	HASH_FIND(hh, s->all, &pid, sizeof(pid), p);
	if (p || HASH_COUNT(s->all) >= PROCESSES_MAX)
		return p;
	p = calloc(1, sizeof(*p));
	if (!p)
		return NULL;
	p->pid = pid;
	p->first_period = s->period;
	HASH_ADD(hh, s->all, pid, sizeof(p->pid), p);
	if (!p->hh.tbl)
		free(TAKE_PTR(p));
	return p;
}

/* Adds two words of spans: the numbers in the upper bits and the sums of times in the lower ones,
 * each of which wraps on its own. */
static uint64_t add_span_words(uint64_t a, uint64_t b)
{
	return ((a & ~SONDA_SPAN_SUM) + (b & ~SONDA_SPAN_SUM)) | ((a + b) & SONDA_SPAN_SUM);
}

/* Returns the time of all spans of a word until now, in 48 bits. */
static uint64_t span_time_until(uint64_t word, uint64_t now)
{
	/* Negative if the begins of some ends are in other words. */
	int64_t number = (int64_t)word >> SONDA_SPAN_BITS;

	return (word + (uint64_t)number * now) & SONDA_SPAN_SUM;
}

/* Adds the n_values values of an element to the sums of its process. Returns the process, or NULL
 * if memory runs out or the limit is reached. */
static struct process_sum *process_sums_add(struct process_sums *s, uint32_t pid,
					    const uint64_t *values)
{
	struct process_sum *p = find_or_add_sum(s, pid);

	if (!p)
		return NULL;
	if (p->period != s->period) {
		p->period = s->period;
		memset(p->raw, 0, sizeof(p->raw));
		if (p->was_emptied)
			memset(p->last, 0, sizeof(p->last));
		p->was_emptied = false;
	}
	for (uint32_t i = 0; i < s->n_values; i++)
		p->raw[i] =
			s->is_spans ? add_span_words(p->raw[i], values[i]) : p->raw[i] + values[i];
	return p;
}

/* Returns the growth from last to raw. A difference is negative if elements were read at different
 * times; then it is 0, and later reads make up for it. */
static uint64_t growth_between(const struct process_sums *s, uint64_t raw, uint64_t last)
{
	int unused = s->is_spans ? 64 - SONDA_SPAN_BITS : 0;
	int64_t d = (int64_t)((raw - last) << unused) >> unused;

	return d > 0 ? (uint64_t)d : 0;
}

static uint64_t value_growth(const struct process_sums *s, const struct process_sum *p, uint32_t i)
{
	return growth_between(s, s->is_spans ? span_time_until(p->raw[i], s->now) : p->raw[i],
			      p->last[i]);
}

/* Returns the share of the measured CPU time that counts in this period, 0 to 1. All spans together
 * can exceed the time that the CPUs had, because a program that runs while the elements are read
 * may end a span after `now`. Later reads catch up. */
static double counted_cpu_share(const struct process_sums *s)
{
	uint64_t more = 0;

	if (!s->is_spans)
		return 1;
	for (struct process_sum *p = s->all; p; p = p->hh.next)
		if (p->period == s->period)
			more += value_growth(s, p, 0);
	return more > s->cpu_ns ? (double)s->cpu_ns / (double)more : 1;
}

static void add_growth(struct process_sums *s, struct process_sum *p, double part)
{
	p->grew = false;
	for (uint32_t i = 0; i < s->n_values; i++) {
		uint64_t more = value_growth(s, p, i);

		if (i == 0 && part < 1)
			more = (uint64_t)((double)more * part);
		p->last[i] += more;
		p->totals[i] += more;
		s->all_totals[i] += more;
		p->grew |= more > 0;
	}
}

/* Ends a period: adds the growth of each process to its totals, and drops processes without an
 * element in this period. */
static void process_sums_end(struct process_sums *s)
{
	struct process_sum *p, *next;
	double part = counted_cpu_share(s);

	HASH_ITER (hh, s->all, p, next) {
		if (p->period == s->period) {
			add_growth(s, p, part);
			continue;
		}
		HASH_DEL(s->all, p);
		free(p);
	}
}

/* A read checks whether processes that did not grow still exist in /proc: one in LOOK_EVERY of
 * them; but all of them while half of the elements of a CPU are in use, or if the last read is
 * LOOK_AT_ALL_NS ago. The sums of ended processes then cost more than the checks. */
#define LOOK_EVERY 10u
#define LOOK_AT_ALL_NS (500 * NS_PER_MS)

/* Returns the number of elements of each CPU. */
static uint32_t choose_elements_per_cpu(const struct per_process_spec *spec, uint32_t n_cpus)
{
	uint32_t n = MAX(spec->elements_per_cpu, PROCESSES_PER_CPU);

	while ((uint64_t)n * n_cpus < PROCESSES_MIN)
		n *= 2;
	while ((uint64_t)n * n_cpus > PROCESSES_MAX_ELEMENTS && n > SONDA_PROCESS_WAYS)
		n /= 2;
	return n;
}

void per_process_prepare(struct ebpf_object *o, const struct per_process_spec *spec,
			 uint32_t n_cpus)
{
	uint32_t buckets = choose_elements_per_cpu(spec, n_cpus) / SONDA_PROCESS_WAYS,
		 mask = buckets - 1;

	ebpf_object_resize(o, "process_keys", buckets * n_cpus);
	ebpf_object_resize(o, "processes", buckets * n_cpus * SONDA_PROCESS_WAYS);
	ebpf_object_resize(o, "process_times", buckets * n_cpus * SONDA_PROCESS_WAYS);
	ebpf_object_set_constants(o, ".rodata.processes", &mask, sizeof(mask));
}

int per_process_new(const struct ebpf_run *r, const struct per_process_spec *spec,
		    struct per_process **ret)
{
	struct per_process *p = *ret = calloc(1, sizeof(*p));
	size_t n;
	int e;

	if (!p)
		return -ENOMEM;
	p->spec = spec;
	p->sums.n_values = spec->n_values;
	p->sums.is_spans = spec->is_spans;
	p->sums.n_cpus = r->n_cpus;
	p->n_cpus = r->n_cpus;
	p->n_each = choose_elements_per_cpu(spec, r->n_cpus);
	n = (size_t)p->n_cpus * p->n_each;
	p->used = calloc(p->n_each, sizeof(*p->used));
	if (!p->used)
		return -ENOMEM;
	e = map_view_init(&p->keys, ebpf_object_map(r->object, "process_keys"),
			  n * sizeof(uint64_t));
	if (e == 0)
		e = map_view_init(&p->values, ebpf_object_map(r->object, "processes"),
				  n * spec->n_values * sizeof(uint64_t));
	if (e == 0)
		e = map_view_init(&p->times, ebpf_object_map(r->object, "process_times"),
				  n * sizeof(uint64_t));
	if (e < 0)
		return e;
	e = map_cpus_init(&p->lost, ebpf_object_map(r->object, "lost"), r->n_cpus,
			  sizeof(uint64_t));
	if (e < 0)
		return e;
	return top_n_new(r->tracks, spec->columns, spec->n_columns, r->top_n, r->proc_root,
			 &p->top);
}

static void read_element(struct per_process *p, uint32_t element, uint64_t key)
{
	const volatile uint64_t *now =
		(uint64_t *)p->values.at + (size_t)element * p->spec->n_values;
	uint64_t values[PROCESS_VALUES_MAX] = {0};
	struct process_sum *sum;

	/* Each value is read once, because programs change it meanwhile. */
	for (uint32_t i = 0; i < p->spec->n_values; i++)
		values[i] = now[i];
	sum = process_sums_add(&p->sums, SONDA_PROCESS_TGID(key), values);
	if (sum)
		sum->made_ns = MAX(sum->made_ns, ((volatile uint64_t *)p->times.at)[element]);
	if (p->each)
		p->each(p->ctx, SONDA_PROCESS_TGID(key), SONDA_PROCESS_WHAT(key), values);
	if (!sum || !sum->is_gone ||
	    array_reserve(&p->gone, &p->gone_cap, p->n_gone + 1, sizeof(*p->gone)) < 0)
		return;
	p->gone[p->n_gone++] = element;
	sum->was_emptied = true;
}

/* Returns true if all elements of a bucket are free, as most are: a few instructions check its keys
 * together. */
static bool is_bucket_free(const uint64_t *keys)
{
	uint64_t any = 0;

	for (uint32_t way = 0; way < SONDA_PROCESS_WAYS; way++)
		any |= keys[way];
	return !any;
}

/* Collects the used elements of a CPU in p->used. */
static void collect_used_elements(struct per_process *p, uint32_t at)
{
	const uint64_t *keys = p->keys.at;

	p->n_used = 0;
	for (uint32_t end = at + p->n_each; at < end; at += SONDA_PROCESS_WAYS) {
		if (is_bucket_free(keys + at))
			continue;
		for (uint32_t i = at; i < at + SONDA_PROCESS_WAYS; i++)
			if (keys[i])
				p->used[p->n_used++] = i;
	}
}

/* Values are scattered in memory, which dominates the cost, so they are prefetched. */
#define AHEAD 16u

static void prefetch_element(const struct per_process *p, uint32_t i)
{
	if (i < p->n_used)
		__builtin_prefetch((const uint64_t *)p->values.at +
				   (size_t)p->used[i] * p->spec->n_values);
}

static void read_elements(struct per_process *p)
{
	const uint64_t *keys = p->keys.at;

	p->n_most = 0;
	for (uint32_t cpu = 0; cpu < p->n_cpus; cpu++) {
		collect_used_elements(p, cpu * p->n_each);
		for (uint32_t i = 0; i < AHEAD; i++)
			prefetch_element(p, i);
		for (uint32_t i = 0; i < p->n_used; i++) {
			prefetch_element(p, i + AHEAD);
			read_element(p, p->used[i], keys[p->used[i]]);
		}
		p->n_most = MAX(p->n_most, p->n_used);
	}
}

/* Empties the elements of ended processes. free_keys_of_ended() frees their keys at the next read,
 * so that no CPU finds a free element with old values. Sums are kept until the elements are not
 * seen any more. */
static void empty_elements_of_ended(struct per_process *p)
{
	size_t n = p->spec->n_values;

	for (size_t i = 0; i < p->n_gone; i++) {
		memset((uint64_t *)p->values.at + (size_t)p->gone[i] * n, 0, n * sizeof(uint64_t));
		((volatile uint64_t *)p->times.at)[p->gone[i]] = 0;
	}
}

/* Returns true if the element has no values. One with values is in use again: by a late end, or by
 * another process with this pid. */
static bool is_element_empty(const struct per_process *p, uint32_t element)
{
	const volatile uint64_t *v = (uint64_t *)p->values.at + (size_t)element * p->spec->n_values;
	uint64_t any = 0;

	for (uint32_t i = 0; i < p->spec->n_values; i++)
		any |= v[i];
	return !any;
}

static void free_keys_of_ended(struct per_process *p)
{
	for (size_t i = 0; i < p->n_gone; i++)
		if (is_element_empty(p, p->gone[i]))
			((volatile uint64_t *)p->keys.at)[p->gone[i]] = 0;
	p->n_gone = 0;
}

/* Returns a time at which the process existed, if it grew in this period: the start of the period,
 * or the creation of its elements if that is later. 0: unknown. */
static uint64_t latest_known_alive_ns(const struct per_process *p, const struct process_sum *sum)
{
	return sum->made_ns ? MAX(sum->made_ns, p->period_ns) : 0;
}

static void add_to_top_n(struct per_process *p)
{
	struct process_sum *sum, *next;

	top_n_begin(p->top);
	HASH_ITER (hh, p->sums.all, sum, next) {
		uint64_t weight = 0;

		/* The kernel counts the last time on a CPU when the thread leaves it, which may be
		 * after its process was reaped. */
		if (sum->is_gone && !(sum->grew && top_n_has_tracks(p->top, sum->pid)))
			continue;
		for (uint32_t i = 0; i < p->spec->n_values; i++)
			if (p->spec->weights >> i & 1)
				weight += sum->totals[i];
		top_n_add(p->top, &(struct top_process){.pid = sum->pid,
							.alive_ns = latest_known_alive_ns(p, sum),
							.weight = weight,
							.values = sum->totals});
	}
	top_n_end(p->top);
}

static void write_rows(struct per_process *p, const struct ebpf_run *r)
{
	struct process_rows rows = {.run = r, .at = p->sums.now, .columns = p->spec->n_columns};
	struct process_sum *sum, *next;

	HASH_ITER (hh, p->sums.all, sum, next)
		if (sum->grew)
			process_rows_add(&rows, sum->pid, sum->totals);
	process_rows_end(&rows);
}

/*
 * Marks the processes that have ended, and adds their ids to ends.
 *
 * A thread that was met is in some state until it ends, so a process whose spans did not grow in a
 * whole period has ended. It may go on with a thread that was not met yet; then its sum restarts at
 * 0. Rows may restart, tracks may not; ends exist only with rows.
 */
static void mark_ended_by_spans(struct per_process *p, struct process_ends *ends)
{
	struct process_sum *sum, *next;

	HASH_ITER (hh, p->sums.all, sum, next) {
		bool over = !sum->grew && sum->first_period != p->sums.period;

		sum->is_gone = over;
		if (over)
			(void)pid_set_add(&ends->pids, (int32_t)sum->pid);
		else
			pid_set_remove(&ends->pids, (int32_t)sum->pid);
	}
	ends->is_known = true;
}

static void mark_ended_by_pids(struct per_process *p, const struct process_ends *ends)
{
	struct process_sum *sum, *next;

	HASH_ITER (hh, p->sums.all, sum, next)
		sum->is_gone = !sum->grew && pid_set_has(&ends->pids, (int32_t)sum->pid);
}

bool per_process_is_filling(const struct per_process *p)
{
	return p->n_most > p->n_each / 2;
}

/* Marks processes that did not grow in this period and have no directory in /proc, which should be
 * that of the initial pid namespace. A process that grows stays, even if /proc does not show it. */
static void mark_missing_in_proc(struct per_process *p, const char *proc_root)
{
	bool look_at_all =
		per_process_is_filling(p) || p->sums.now - p->period_ns >= LOOK_AT_ALL_NS;
	struct process_sum *sum, *next;
	char path[512];

	HASH_ITER (hh, p->sums.all, sum, next) {
		if (sum->grew || (!look_at_all && (sum->pid + p->sums.period) % LOOK_EVERY))
			continue;
		snprintf(path, sizeof(path), "%s/%u", proc_root, sum->pid);
		sum->is_gone = access(path, F_OK) < 0 && errno == ENOENT;
	}
}

static int read_lost(struct per_process *p, struct ebpf_run *r)
{
	uint64_t lost;
	int e = map_cpus_sum(&p->lost, &lost);

	if (e == 0)
		ebpf_set_lost(r, &p->lost_track, p->spec->lost_name, p->spec->lost_description,
			      lost);
	return e;
}

static void set_total_tracks(struct per_process *p, const struct ebpf_run *r)
{
	for (uint32_t i = 0; p->spec->has_totals && i < p->spec->n_columns; i++) {
		const struct track_spec *c = &p->spec->columns[i];

		if (p->total_tracks[i] == TRACK_ROOT)
			p->total_tracks[i] =
				ebpf_add_total(r, r->group, c->name, c->description, c->unit);
		tracks_set(r->tracks, p->total_tracks[i], (int64_t)p->sums.all_totals[i]);
	}
}

int per_process_read(struct per_process *p, struct ebpf_run *r)
{
	free_keys_of_ended(p);
	p->period_ns = p->sums.now;
	process_sums_begin(&p->sums, clock_boot_ns());
	read_elements(p);
	process_sums_end(&p->sums);
	if (r->process_rows)
		write_rows(p, r);
	else
		add_to_top_n(p);
	set_total_tracks(p, r);
	empty_elements_of_ended(p);
	if (r->ends && p->spec->is_spans)
		mark_ended_by_spans(p, r->ends);
	else if (r->ends && r->ends->is_known)
		mark_ended_by_pids(p, r->ends);
	else
		mark_missing_in_proc(p, r->proc_root);
	return read_lost(p, r);
}

void per_process_remove_tracks(struct per_process *p, struct ebpf_run *r)
{
	if (r->ends && p->spec->is_spans)
		r->ends->is_known = false;
	top_n_remove_tracks(p->top);
	tracks_remove(r->tracks, p->lost_track);
	for (uint32_t i = 0; i < PROCESS_VALUES_MAX; i++)
		tracks_remove(r->tracks, p->total_tracks[i]);
}

void per_process_free(struct per_process *p)
{
	if (!p)
		return;
	process_sums_deinit(&p->sums);
	top_n_free(p->top);
	map_view_deinit(&p->keys);
	map_view_deinit(&p->values);
	map_view_deinit(&p->times);
	map_cpus_deinit(&p->lost);
	free(p->used);
	free(p->gone);
	free(p);
}
