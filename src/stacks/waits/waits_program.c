/* SPDX-License-Identifier: Apache-2.0 */
#include "stacks/waits/waits_program.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/core/mem.h"
#include "ebpf/engine/images.h"
#include "ebpf/engine/map.h"
#include "ebpf/engine/new_groups.h"
#include "ebpf/engine/object.h"
#include "ebpf/engine/run_cost.h"

EBPF_DECLARE(waits);
EBPF_DECLARE(waits_calls);

#define LOWER_BY 4 /* the limits, when the programs cost too much */

static const struct ebpf_need needs[] = {
	/* The first three arguments are stable; 5.18 appended prev_state. */
	NEED_TP_BTF("sched_switch", 3, 8),	 NEED_TP_BTF("sched_waking", 1, 1),
	NEED_TP_BTF("sched_process_fork", 2, 2), NEED_TP_BTF("sched_process_free", 1, 1),
	NEED_MEMBER("task_struct", "on_rq"),	 NEED_END,
};

/* The second one is for kernels before 5.17, which have no bpf_loop(). */
static const struct ebpf_variant variants[] = {
	{"tp_btf", EBPF_IMAGE(waits), needs},
	{"tp_btf without bpf_loop", EBPF_IMAGE(waits_calls), needs},
};

static const struct {
	const char *name;
	uint32_t max;
	uint32_t key_size;
} total_tables[WAITS_TABLES] = {
	[WAITS_TOTALS] = {"totals", WAITS_TOTALS_MAX, sizeof(struct wait_key)},
	[WAITS_TOTALS_WITHOUT_STACKS] = {"totals_without_stacks", WAITS_BARE_TOTALS_MAX,
					 sizeof(struct wait_key)},
	[WAITS_TOTALS_OF_WAKERS] = {"totals_of_wakers", WAITS_WAKERS_MAX, sizeof(struct waker_key)},
};

struct waits_program {
	struct ebpf_object *object; /* owned */
	struct ring_buffer *ring; /* owned */
	struct waits_queue *queue; /* borrowed during a read */
	struct map_cpus cpus;
	struct map_reader tables[WAITS_TABLES];
	struct waits_budget budget;
	bool is_lowered;
	uint64_t n_waits_lost, n_stacks_lost; /* records that found no memory */
	int pids_fd; /* borrowed: map of the processes that are recorded; -1: of all */
	double max_overhead_percent;
	uint32_t n_cpus; /* possible ones */
	struct run_cost cost;
	struct new_groups_user new_groups;
};

/* ---- the life of the programs ---- */

/* Leaves out what this kernel lacks or the config does not need. Returns the switches. */
static uint32_t prepare_object(struct ebpf_object *o, const struct waits_config *c,
			       const struct ebpf_features *f)
{
	bool typed = f->has_map_type(f->ctx, BPF_MAP_TYPE_TASK_STORAGE); /* 5.11 has both */
	bool storage = typed && f->has_member(f->ctx, "bpf_local_storage_map", "storage_ma");
	bool locks = typed && f->count_args(f->ctx, "contention_begin") == 2 &&
		     f->count_args(f->ctx, "contention_end") == 2;

	ebpf_object_resize(o, "short_waits", ebpf_count_cpus());
	ebpf_object_leave_out_map(o, storage ? "threads_by_pid" : "threads");
	if (!c->follows_children) {
		ebpf_object_leave_out_program(o, "on_fork");
		ebpf_object_leave_out_program(o, "on_free");
	}
	if (!locks) {
		ebpf_object_leave_out_program(o, "on_lock");
		ebpf_object_leave_out_program(o, "on_unlock");
	}
	return (typed ? SONDA_TYPED_CURRENT : 0) | (storage ? SONDA_TASK_STORAGE : 0) |
	       (f->count_args(f->ctx, "sched_switch") >= 4 ? WAITS_HAS_STATE : 0) |
	       (c->kernel_threads ? WAITS_KERNEL_THREADS : 0) |
	       (c->by_thread ? WAITS_BY_THREAD : 0) | (c->has_user_stacks ? WAITS_USER_STACKS : 0) |
	       (locks ? WAITS_HAS_LOCKS : 0)
#if defined(__x86_64__)
	       | SONDA_ON_X86_64
#endif
		;
}

/* Gives the programs the tables that all programs that unwind share. Without any, the maps are as
 * small as can be. */
static int use_unwind_tables(struct ebpf_object *o, const struct unwind_maps *tables)
{
	int r;

	if (!tables) {
		ebpf_object_resize(o, "unwind_rows", 1);
		ebpf_object_resize(o, "unwind_rules", 1);
		ebpf_object_resize(o, "unwind_files", 1);
		return 0;
	}
	r = ebpf_object_use_map(o, "unwind_rows", tables->rows_fd);
	if (r == 0)
		r = ebpf_object_use_map(o, "unwind_rules", tables->rules_fd);
	if (r == 0)
		r = ebpf_object_use_map(o, "unwind_files", tables->files_fd);
	return r ? r : ebpf_object_use_map(o, "unwind_state", tables->state_fd);
}

struct load_args {
	const struct waits_config *config;
	const uint32_t *own;
	const struct unwind_maps *tables;
	const struct ebpf_features *features;
};

/* Opens and loads a variant as the object of p. Returns 0, or -errno and sets e. */
static int load_variant(struct waits_program *p, const struct load_args *a,
			const struct ebpf_variant *variant, struct err_text *e)
{
	struct waits_settings settings = a->config->settings;
	struct ebpf_scope scope = {
		.own_pid = a->own[0],
		.pids = a->config->pids,
		.n_pids = a->config->n_pids,
		.n_later_pids = a->config->follows_children ? WAITS_CHILDREN_MAX : 0,
		.subject = &a->config->subject,
	};
	_cleanup_(ebpf_object_freep) struct ebpf_object *o = NULL;
	int r = ebpf_object_open(&variant->image, &o, e);

	if (r < 0)
		return r;
	r = use_unwind_tables(o, a->tables);
	if (r < 0)
		return err_set(e, r, "cannot set up the unwind tables");
	memcpy(settings.own, a->own, sizeof(settings.own));
	ebpf_object_set_constants(o, ".rodata.waits", &settings, sizeof(settings));
	ebpf_object_set_constants(o, ".data.waits", &p->budget, sizeof(p->budget));
	r = ebpf_object_load(o, &scope, prepare_object(o, a->config, a->features), e);
	if (r == 0)
		p->object = TAKE_PTR(o);
	return r;
}

/* Loads the first variant that this kernel accepts. Returns 0, or -errno and sets e. */
static int load_first_variant(struct waits_program *p, const struct load_args *a,
			      struct err_text *e)
{
	struct err_text second;
	int r;

	if (ebpf_choose_variant(a->features, variants, 1, 0, e) < 0)
		return -ENOTSUP;
	r = load_variant(p, a, &variants[0], e);
	/* If both fail, the error of the first one is more useful. */
	if (r < 0 && r != -EPERM && load_variant(p, a, &variants[1], &second) == 0)
		r = 0;
	return r;
}

static int on_record(void *ctx, void *record, size_t size);

static int open_maps(struct waits_program *p)
{
	int r = map_cpus_init(&p->cpus, ebpf_object_map(p->object, "cpus"), p->n_cpus,
			      sizeof(struct waits_cpu));

	for (unsigned i = 0; i < WAITS_TABLES; i++)
		p->tables[i] = (struct map_reader){
			.fd = ebpf_object_map(p->object, total_tables[i].name),
			.key_size = total_tables[i].key_size,
			.value_size = sizeof(struct wait_sum),
		};
	if (r < 0)
		return r;
	p->ring = ring_buffer__new(ebpf_object_map(p->object, "waits"), on_record, p, NULL);
	return p->ring ? 0 : -errno;
}

/* Runs an iterator to its end. fn NULL: it has no output. */
static int run_iterator(struct waits_program *p, const char *program,
			void (*fn)(struct waits_program *p, const struct wait_event *e))
{
	int fd = ebpf_object_open_iterator(p->object, program);
	struct wait_event events[64];
	ssize_t n;

	if (fd < 0)
		return fd;
	do {
		n = read(fd, events, sizeof(events));
		for (ssize_t i = 0; fn && i < n / (ssize_t)sizeof(*events); i++)
			fn(p, &events[i]);
	} while (n > 0 || (n < 0 && (errno == EAGAIN || errno == EINTR)));
	close(fd);
	return 0;
}

static void waits_program_freep(struct waits_program **p)
{
	waits_program_free(*p);
}

int waits_program_new(const struct waits_config *c, const uint32_t own[static WAITS_OWN_MAX],
		      const struct unwind_maps *tables, const char *tracefs_root,
		      struct waits_program **ret, struct err_text *e)
{
	_cleanup_(waits_program_freep) struct waits_program *p = calloc(1, sizeof(*p));
	struct ebpf_features f;
	const struct load_args args = {c, own, tables, &f};
	int r = p ? ebpf_features_new(tracefs_root, &f) : -ENOMEM;

	if (r < 0)
		return r;
	p->cost.stats_fd = -1;
	p->pids_fd = -1;
	p->budget = c->budget;
	p->max_overhead_percent = c->max_overhead_percent;
	p->n_cpus = ebpf_count_cpus();
	r = load_first_variant(p, &args, e);
	ebpf_features_free(&f);
	if (r == 0) {
		if (c->n_pids && !c->subject.is_set)
			p->pids_fd = ebpf_object_map(p->object, "sonda_pids");
		r = open_maps(p);
		if (r < 0)
			return err_set(e, r, "waits.bpf.o: cannot set up the maps: %s",
				       strerror(-r));
		r = waits_program_flush_totals(p);
		if (r < 0)
			return err_set(e, r, "waits.bpf.o: cannot read the totals: %s",
				       strerror(-r));
		r = ebpf_object_attach(p->object, e);
	}
	if (r == 0)
		r = new_groups_join(&p->new_groups, p->object, &c->subject, e);
	if (r == 0) {
		r = run_iterator(p, "seed_waits", NULL);
		if (r < 0)
			return err_set(e, r, "waits.bpf.o: cannot run the iterator");
	}
	if (r == 0)
		*ret = TAKE_PTR(p);
	return r;
}

void waits_program_free(struct waits_program *p)
{
	if (!p)
		return;
	new_groups_leave(&p->new_groups);
	ring_buffer__free(p->ring);
	map_cpus_deinit(&p->cpus);
	for (unsigned i = 0; i < WAITS_TABLES; i++)
		map_reader_deinit(&p->tables[i]);
	ebpf_object_free(p->object);
	closep(&p->cost.stats_fd);
	free(p);
}

int waits_program_wakeup_fd(const struct waits_program *p)
{
	return ebpf_object_map(p->object, "waits");
}

/* Looks the process up in the map of recorded ones, in which the programs keep the children,
 * too. */
bool waits_program_is_process_recorded(const struct waits_program *p, int32_t pid)
{
	uint8_t yes;

	return p->pids_fd < 0 || bpf_map_lookup_elem(p->pids_fd, &pid, &yes) == 0;
}

/* ---- records ---- */

/* Adds a record to the queue of the read, or counts it as lost. Returns 0 or -ENOMEM. */
static int queue_add(struct waits_program *p, const void *record, size_t size)
{
	const uint32_t *type = record;
	struct waits_queue *q = p->queue;
	uint64_t head = size;
	size_t room = sizeof(head) + (size + 7) / 8 * 8;

	if (array_reserve(&q->bytes, &q->cap, q->n + room, 1) < 0) {
		if (*type == WAIT_RECORD_STACK)
			p->n_stacks_lost++;
		else
			p->n_waits_lost++;
		return -ENOMEM;
	}
	memcpy(q->bytes + q->n, &head, sizeof(head));
	memcpy(q->bytes + q->n + sizeof(head), record, size);
	q->n += room;
	return 0;
}

/* Ends the read with an error if the queue is full, or memory runs out. libbpf consumes the record
 * in any case. */
static int on_record(void *ctx, void *record, size_t size)
{
	struct waits_program *p = ctx;
	int r = queue_add(p, record, size);

	return r == 0 && p->queue->n >= WAITS_QUEUE_MAX ? -E2BIG : r;
}

void waits_program_read_records(struct waits_program *p, struct waits_queue *q)
{
	if (q->at == q->n)
		q->at = q->n = 0;
	if (q->n >= WAITS_QUEUE_MAX)
		return;
	p->queue = q;
	(void)ring_buffer__consume(p->ring);
	p->queue = NULL;
}

static void add_open_wait(struct waits_program *p, const struct wait_event *e)
{
	(void)queue_add(p, e, sizeof(*e));
}

/* Adds the waits that still last to the queue. The iterator sends stacks through the ring, so the
 * ring is read before the waits are added. */
void waits_program_end_waits(struct waits_program *p, struct waits_queue *q)
{
	struct waits_queue open = {0};

	p->queue = &open;
	(void)run_iterator(p, "open_waits", add_open_wait);
	p->queue = NULL;
	waits_program_read_records(p, q);
	if (array_reserve(&q->bytes, &q->cap, q->n + open.n, 1) < 0) {
		p->n_waits_lost += open.n / (sizeof(uint64_t) + sizeof(struct wait_event));
	} else if (open.n) {
		memcpy(q->bytes + q->n, open.bytes, open.n);
		q->n += open.n;
	}
	free(open.bytes);
}

void waits_program_clear_sent_stacks(struct waits_program *p)
{
	int fd = ebpf_object_map(p->object, "sent");
	uint64_t hash;

	for (unsigned i = 0; i < 65536 && bpf_map_get_next_key(fd, NULL, &hash) == 0; i++)
		(void)bpf_map_delete_elem(fd, &hash);
}

/* ---- totals ---- */

/* Lets each CPU move its totals into the map. An offline CPU adds nothing, so the CPU of this
 * thread moves its totals. */
int waits_program_flush_totals(struct waits_program *p)
{
	int r = 0;

	for (uint32_t cpu = 0; r == 0 && cpu < p->n_cpus; cpu++) {
		r = ebpf_object_run(p->object, "flush_short_waits", cpu, cpu);
		if (r == -ENXIO)
			r = ebpf_object_run(p->object, "flush_short_waits",
					    (uint32_t)MAX(sched_getcpu(), 0), cpu);
	}
	return r;
}

int waits_program_each_total(struct waits_program *p, unsigned table,
			     void (*fn)(void *ctx, const void *key, const void *sum), void *ctx)
{
	return map_each(&p->tables[table], fn, ctx);
}

uint32_t waits_program_table_max(unsigned table)
{
	return total_tables[table].max;
}

size_t waits_program_key_size(unsigned table)
{
	return total_tables[table].key_size;
}

int waits_program_remove_total(struct waits_program *p, unsigned table, const void *key,
			       struct wait_sum *ret)
{
	int fd = p->tables[table].fd;

	if (bpf_map_lookup_and_delete_elem(fd, key, ret) == 0)
		return 0;
	/* Kernels before 5.14. */
	if (bpf_map_lookup_elem(fd, key, ret) < 0 || bpf_map_delete_elem(fd, key) < 0)
		return -errno;
	return 0;
}

/* ---- cost ---- */

/* Lowers the limits: that of user stacks first, then those of waits and kernel stacks. Returns
 * false if there is nothing left to lower, or the programs' limits cannot be set. */
static bool lower_limits(struct waits_program *p)
{
	int fd = ebpf_object_map(p->object, ".data.waits");
	const uint32_t zero = 0;

	if (p->budget.user_stacks)
		p->budget.user_stacks /= LOWER_BY;
	else if (p->budget.waits || p->budget.kernel_stacks) {
		p->budget.waits /= LOWER_BY;
		p->budget.kernel_stacks /= LOWER_BY;
	} else {
		return false;
	}
	p->is_lowered = true;
	return fd >= 0 && bpf_map_update_elem(fd, &zero, &p->budget, BPF_ANY) == 0;
}

bool waits_program_check_cost(struct waits_program *p)
{
	double percent = run_cost_end_measurement(&p->cost, p->object);

	if (p->max_overhead_percent > 0 && percent > p->max_overhead_percent) {
		if (!lower_limits(p))
			return false;
		p->cost.period = 0; /* measures the effect at once */
	}
	run_cost_begin_if_due(&p->cost, p->object);
	return true;
}

void waits_program_read_counts(struct waits_program *p, struct waits_counts *ret)
{
	*ret = (struct waits_counts){.budget = p->budget, .is_lowered = p->is_lowered};
	(void)run_cost_end_measurement(&p->cost, p->object);
	(void)map_cpus_sum(&p->cpus, &ret->lost);
	ret->lost.ring_full += p->n_waits_lost;
	ret->lost.stack_lost += p->n_stacks_lost;
	ret->run_ns = p->cost.run_ns;
	ret->runs = p->cost.runs;
	ret->measured_ns = p->cost.measured_ns;
	ret->missed_programs = p->new_groups.missed;
}
