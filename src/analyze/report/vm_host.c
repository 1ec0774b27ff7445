/* SPDX-License-Identifier: Apache-2.0 */
#include "analyze/report/vm_host.h"

#include <stdlib.h>
#include <string.h>

#include "analyze/report/event_reader.h"
#include "analyze/report/pass.h"
#include "base/core/mem.h"
#include "base/text/number_read.h"

/* At most this many switches of a guest are compared: more would prove no more. */
#define CHECKS_MAX 4096

/* How far the converted clock of a guest may be behind that of its host, or ahead of it. */
#define BEHIND_MAX_NS (5 * INT64_C(1000000))

/* Switches of the guest while no thread of a process ran speak against the process. If the process
 * had nothing to do with the guest, `expected` switches would. It is ruled out if more than the
 * CHANCE_SHARE-th part of these did, else confirmed if at least CHANCE_MIN are expected. */
#define CHANCE_SHARE 4
#define CHANCE_MIN 30

static struct vcpu *add_vcpu(struct vm_host *h, const struct store *s, uint32_t utid, uint32_t id)
{
	struct vcpu *v;

	if (array_reserve(&h->vcpus, &h->cap, h->n_vcpus + 1, sizeof(*v)) < 0)
		return NULL;
	v = &h->vcpus[h->n_vcpus++];
	*v = (struct vcpu){.upid = table_u32(&s->tables[TABLE_THREAD], THREAD_UPID, utid),
			   .utid = utid,
			   .id = id};
	return v;
}

/* Reads the number in the name of a virtual CPU's thread: QEMU, Firecracker, Cloud Hypervisor,
 * crosvm. Returns false for other names. */
static bool read_vcpu_name(const char *name, uint32_t *ret_id)
{
	static const char *const before[] = {"CPU ", "fc_vcpu ", "vcpu", "crosvm_vcpu"};
	static const char *const after[] = {"/KVM", "/TCG"};

	for (size_t i = 0; i < ARRAY_SIZE(before); i++) {
		size_t len = strlen(before[i]);
		const char *end = name + len;
		uint64_t id;

		if (strncmp(name, before[i], len) != 0 || name[len] < '0' || name[len] > '9')
			continue;
		(void)str_read_u64(&end, 10, &id);
		*ret_id = (uint32_t)id;
		if (i == 0)
			return id < STORE_CPUS_OF_A_MACHINE &&
			       (!strcmp(end, after[0]) || !strcmp(end, after[1]));
		return id < STORE_CPUS_OF_A_MACHINE && !*end;
	}
	return false;
}

static bool is_of_other_machine(const struct pass_input *in, uint32_t utid)
{
	const struct table *t = &in->s->tables[TABLE_THREAD];

	return utid < t->rows && table_u32(t, THREAD_UPID, utid) != NULL_U32 &&
	       table_u32(t, THREAD_MACHINE, utid) != in->machine;
}

static bool add_named_vcpus(struct vm_host *h, const struct pass_input *in)
{
	const struct table *t = &in->s->tables[TABLE_THREAD];
	uint32_t id;

	for (uint32_t utid = 0; utid < t->rows; utid++) {
		uint32_t name = table_u32(t, THREAD_NAME, utid);

		if (name != NULL_U32 && is_of_other_machine(in, utid) &&
		    read_vcpu_name(strings_get(&in->s->strings, name), &id) &&
		    !add_vcpu(h, in->s, utid, id))
			return false;
	}
	return true;
}

/* Handles the first kvm_entry of a thread: adds the thread as a virtual CPU if the event has the
 * number of the CPU (on arm64 it has not). Returns false if out of memory. */
static bool add_entered_vcpu(struct vm_host *h, const struct store *s, uint32_t row, bool *known)
{
	uint32_t utid = table_u32(&s->tables[TABLE_FTRACE], FTRACE_UTID, row);
	struct arg_list args = {.n = 0};
	bool fine = event_reader_args(s, row, &args);
	const struct arg *id = fine ? event_reader_find(&args, "vcpu_id") : NULL;
	struct vcpu *v = NULL;

	known[utid] = true;
	if (id && id->i >= 0 && id->i < STORE_CPUS_OF_A_MACHINE) {
		v = add_vcpu(h, s, utid, (uint32_t)id->i);
		fine = v;
	}
	if (v)
		v->has_entry = true;
	free(args.args);
	return fine;
}

static bool add_entered_vcpus(struct vm_host *h, const struct pass_input *in)
{
	static const char *const names[] = {"kvm_entry"};
	const struct table *t = &in->s->tables[TABLE_FTRACE];
	uint8_t *kinds = event_reader_kinds(in->s, names, ARRAY_SIZE(names));
	bool *known = calloc((size_t)in->s->tables[TABLE_THREAD].rows + 1, sizeof(*known));
	bool fine = kinds && known;

	for (uint32_t row = 0; fine && row < t->rows; row++) {
		uint32_t utid;

		if (!kinds[table_u16(t, FTRACE_KIND, row)])
			continue;
		utid = table_u32(t, FTRACE_UTID, row);
		if (is_of_other_machine(in, utid) && !known[utid])
			fine = add_entered_vcpu(h, in->s, row, known);
	}
	free(kinds);
	free(known);
	return fine;
}

/* Sorts by process and CPU; of the threads of a CPU, one that has kvm_entry comes first. */
static int compare_vcpus(const void *a, const void *b)
{
	const struct vcpu *x = a, *y = b;

	if (x->upid != y->upid)
		return x->upid < y->upid ? -1 : 1;
	if (x->id != y->id)
		return x->id < y->id ? -1 : 1;
	if (x->has_entry != y->has_entry)
		return x->has_entry ? -1 : 1;
	return x->utid < y->utid ? -1 : x->utid > y->utid;
}

/* Sorts the threads, and keeps one for each CPU. */
static void sort_vcpus(struct vm_host *h)
{
	size_t n = 0;

	if (h->n_vcpus)
		qsort(h->vcpus, h->n_vcpus, sizeof(*h->vcpus), compare_vcpus);
	for (size_t i = 0; i < h->n_vcpus; i++)
		if (!n || h->vcpus[n - 1].upid != h->vcpus[i].upid ||
		    h->vcpus[n - 1].id != h->vcpus[i].id)
			h->vcpus[n++] = h->vcpus[i];
	h->n_vcpus = n;
}

/* Adds the span of a row of thread_state, unless it has no length. Returns false if out of
 * memory. */
static bool add_span(struct vcpu *v, const struct pass_input *in, uint32_t row)
{
	const struct table *t = &in->s->tables[TABLE_THREAD_STATE];
	uint16_t state = table_u16(t, STATE_STATE, row);
	int64_t dur = table_dur(t, STATE_DUR, row);
	struct vcpu_span span = {.begin = table_ts(t, STATE_TS, row),
				 .waker = NULL_U32,
				 .running = state == STORE_STATE_RUNNING};
	uint32_t waker = span.running ? NULL_U32 : pass_waker_row(in->s, row);

	if (dur < 0 || __builtin_add_overflow(span.begin, dur, &span.end))
		span.end = in->last_of_thread[v->utid] == row ? INT64_MAX : span.begin;
	if (span.begin < 0 || span.end <= span.begin)
		return true;
	if (span.running)
		span.cpu = table_u32(t, STATE_MORE, row);
	if (waker != NULL_U32 &&
	    table_u8(&in->s->tables[TABLE_WAKER], WAKER_IRQ_CONTEXT, waker) != 1)
		span.waker = table_u32(&in->s->tables[TABLE_WAKER], WAKER_UTID, waker);
	span.blocked = !span.running && !pass_is_runnable(in->s, state);
	if (array_reserve(&v->spans, &v->cap, v->n + 1, sizeof(span)) < 0)
		return false;
	v->spans[v->n++] = span;
	if (span.end != INT64_MAX) {
		v->total += (double)(span.end - span.begin);
		v->off += span.running ? 0 : (double)(span.end - span.begin);
	}
	return true;
}

static int compare_spans(const void *a, const void *b)
{
	const struct vcpu_span *x = a, *y = b;

	return x->begin < y->begin ? -1 : x->begin > y->begin;
}

static bool read_spans(struct vm_host *h, const struct pass_input *in)
{
	const struct table *t = &in->s->tables[TABLE_THREAD_STATE];
	size_t threads = in->s->tables[TABLE_THREAD].rows;
	uint32_t *of = malloc((threads + 1) * sizeof(*of)); /* by utid: a number of a CPU */
	bool fine = of;

	if (of)
		memset(of, 0xff, (threads + 1) * sizeof(*of));
	for (size_t i = 0; of && i < h->n_vcpus; i++)
		of[h->vcpus[i].utid] = (uint32_t)i;
	for (uint32_t row = 0; fine && row < t->rows; row++) {
		uint32_t i = of[table_u32(t, STATE_UTID, row)];

		if (i != NULL_U32)
			fine = add_span(&h->vcpus[i], in, row);
	}
	for (size_t i = 0; t->unsorted && i < h->n_vcpus; i++)
		if (h->vcpus[i].n)
			qsort(h->vcpus[i].spans, h->vcpus[i].n, sizeof(*h->vcpus[i].spans),
			      compare_spans);
	free(of);
	return fine;
}

size_t vcpu_span_after(const struct vcpu *v, int64_t ts)
{
	size_t lo = 0, hi = v->n;

	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;

		if (v->spans[mid].end <= ts)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo;
}

/* Switches of the guest, which are compared with the runs of the host's threads. */
struct check_list {
	struct check {
		uint32_t cpu;
		int64_t ts;
	} of[CHECKS_MAX];
	size_t n;
};

/* How well the switches of the guest fit the threads of a process. */
struct fit {
	size_t first, n; /* of vcpus */
	size_t checked, outside;
	double expected; /* of outside, if the process did not run the guest */
	int64_t behind, error; /* see struct vm_host */
};

/* From this difference between the clocks on, `step` more switches are outside. */
struct edge {
	int64_t at;
	int step;
};

struct edge_list {
	struct edge *of; /* owned */
	size_t n, cap;
};

/* Finds the thread of a virtual CPU by binary search: the threads of a process are sorted by
 * CPU. */
static const struct vcpu *find_vcpu(const struct vcpu *list, size_t n, uint32_t id)
{
	size_t lo = 0, hi = n;

	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;

		if (list[mid].id < id)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo < n && list[lo].id == id ? &list[lo] : NULL;
}

static uint32_t count_switches(const struct pass_input *in)
{
	const struct table *t = &in->s->tables[TABLE_SCHED];
	uint32_t n = 0;

	for (uint32_t row = 0; row < t->rows; row++)
		n += pass_cpu_counts(in, table_u32(t, SCHED_CPU, row));
	return n;
}

/* Lists every switch of the guest, or every second one, and so on. */
static void list_checks(const struct pass_input *in, struct check_list *ret)
{
	const struct table *t = &in->s->tables[TABLE_SCHED];
	uint32_t step = count_switches(in) / CHECKS_MAX + 1, n = 0;

	for (uint32_t row = 0; row < t->rows; row++) {
		uint32_t cpu = table_u32(t, SCHED_CPU, row);

		if (pass_cpu_counts(in, cpu) && n++ % step == 0)
			ret->of[ret->n++] = (struct check){.cpu = cpu % STORE_CPUS_OF_A_MACHINE,
							   .ts = table_ts(t, SCHED_TS, row)};
	}
}

static bool add_edge(struct edge_list *l, int64_t at, int step)
{
	if (array_reserve(&l->of, &l->cap, l->n + 1, sizeof(*l->of)) < 0)
		return false;
	l->of[l->n++] = (struct edge){.at = at, .step = step};
	return true;
}

/* Adds the differences at which a switch gets into a run of its thread, or out of it. Returns false
 * if out of memory. */
static bool add_edges(struct edge_list *l, const struct vcpu *v, int64_t ts)
{
	bool outside = false;

	for (size_t i = vcpu_span_after(v, ts - BEHIND_MAX_NS); i < v->n; i++) {
		int64_t at = MAX(v->spans[i].begin - ts, -BEHIND_MAX_NS);

		if (at >= BEHIND_MAX_NS)
			break;
		if (v->spans[i].running == outside &&
		    !add_edge(l, at, v->spans[i].running ? -1 : 1))
			return false;
		outside = !v->spans[i].running;
	}
	return true;
}

static int compare_edges(const void *a, const void *b)
{
	const struct edge *x = a, *y = b;

	return x->at < y->at ? -1 : x->at > y->at;
}

/* Chooses the difference with the fewest switches outside; of several, the one nearest to 0. */
static void choose_difference(const struct edge_list *l, struct fit *f)
{
	int64_t outside = 0, best = INT64_MAX, best_distance = INT64_MAX;

	for (size_t i = 0; i < l->n; i++) {
		int64_t begin = l->of[i].at, end = i + 1 < l->n ? l->of[i + 1].at : BEHIND_MAX_NS;
		int64_t distance = begin > 0 ? begin : end < 0 ? -end : 0;

		outside += l->of[i].step;
		if (end <= begin || outside > best ||
		    (outside == best && distance >= best_distance))
			continue;
		best = outside;
		best_distance = distance;
		f->behind = distance ? begin + (end - begin) / 2 : 0;
		f->error = MAX(f->behind - begin, end - f->behind);
	}
	f->outside = best == INT64_MAX ? 0 : (size_t)best;
}

/* Counts the switches while the threads were recorded, and chooses the difference between the
 * clocks. No switch counts if a CPU of the guest has no thread. Returns false if out of memory. */
static bool fit_process(const struct vm_host *h, const struct check_list *checks, struct fit *f)
{
	struct edge_list edges = {.n = 0};
	bool fine = true;

	for (size_t i = 0; i < checks->n && fine; i++) {
		const struct check *c = &checks->of[i];
		const struct vcpu *v = find_vcpu(h->vcpus + f->first, f->n, c->cpu);

		if (!v) {
			f->checked = 0;
			break;
		}
		if (v->total <= 0 || c->ts < v->spans[0].begin || c->ts >= v->spans[v->n - 1].end)
			continue;
		f->checked++;
		f->expected += v->off / v->total;
		fine = add_edges(&edges, v, c->ts);
	}
	if (fine && f->checked && edges.n) {
		qsort(edges.of, edges.n, sizeof(*edges.of), compare_edges);
		choose_difference(&edges, f);
	}
	free(edges.of);
	return fine;
}

/* Chooses the process that is proved best; if none is proved, the only one that is left. Returns
 * false if out of memory. */
static bool choose_process(struct vm_host *h, const struct check_list *checks)
{
	struct fit best = {.n = 0}, left = {.n = 0};
	size_t n_left = 0;

	for (size_t i = 0, end; i < h->n_vcpus; i = end) {
		struct fit f = {.first = i};

		for (end = i; end < h->n_vcpus && h->vcpus[end].upid == h->vcpus[i].upid; end++)
			f.n++;
		if (!fit_process(h, checks, &f))
			return false;
		if (!f.checked || (double)f.outside * CHANCE_SHARE > MAX(f.expected, CHANCE_SHARE))
			continue;
		if (f.expected < CHANCE_MIN) {
			left = f;
			n_left++;
		} else if (!best.n ||
			   (double)f.outside * best.expected < (double)best.outside * f.expected) {
			best = f;
		}
	}
	if (!best.n && n_left == 1) {
		best = left;
		best.behind = 0;
		best.error = NULL_I64;
	}
	h->first = best.first;
	h->n = best.n;
	h->checked = best.checked;
	h->outside = best.outside;
	h->behind = best.behind;
	h->error = best.error;
	return true;
}

bool vm_host_find(struct vm_host *h, const struct pass_input *in)
{
	struct check_list *checks;
	bool fine;

	*h = (struct vm_host){.n = 0};
	if (in->machine == MACHINES_ALL)
		return true;
	if (!add_named_vcpus(h, in) || !add_entered_vcpus(h, in))
		return false;
	sort_vcpus(h);
	if (!h->n_vcpus)
		return true;
	if (!read_spans(h, in))
		return false;
	checks = calloc(1, sizeof(*checks));
	if (!checks)
		return false;
	list_checks(in, checks);
	fine = choose_process(h, checks);
	free(checks);
	return fine;
}

void vm_host_deinit(struct vm_host *h)
{
	for (size_t i = 0; i < h->n_vcpus; i++)
		free(h->vcpus[i].spans);
	free(h->vcpus);
}

const struct vcpu *vm_host_vcpu(const struct vm_host *h, uint32_t cpu)
{
	return find_vcpu(h->vcpus + h->first, h->n, cpu);
}
