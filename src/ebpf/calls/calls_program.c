/* SPDX-License-Identifier: Apache-2.0 */
#include "ebpf/calls/calls_program.h"

#include <bpf/bpf.h>
#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/core/mem.h"
#include "ebpf/engine/features.h"
#include "ebpf/engine/images.h"
#include "ebpf/engine/map.h"
#include "ebpf/engine/new_groups.h"
#include "ebpf/engine/ring.h"
#include "ebpf/engine/run_cost.h"

EBPF_DECLARE(calls);

#define RING_BYTES (8u << 20) /* max_entries of the map "calls" */

static const struct ebpf_need needs[] = {
	NEED_TP_BTF("sys_enter", 2, 2),
	NEED_TP_BTF("sys_exit", 2, 2),
	/* Later kernels append arguments. */
	NEED_TP_BTF("sched_process_exit", 1, 4),
	NEED_TP_BTF("sched_process_fork", 2, 4),
	NEED_TP_BTF("sched_process_free", 1, 4),
	NEED_END,
};

static const struct ebpf_variant variant = {"tp_btf", EBPF_IMAGE(calls), needs};

struct calls_program {
	struct ebpf_object *object; /* owned */
	struct ebpf_ring ring;
	struct map_cpus cpus;
	struct run_cost cost;
	struct new_groups_user new_groups;
};

static int set_switches(struct ebpf_object *o, const struct calls_config *c,
			const struct ebpf_features *f, uint32_t *ret, struct err_text *e)
{
	bool storage = f->has_member(f->ctx, "bpf_local_storage_map", "storage_ma");

	/* 5.11 has both. */
	if (!f->has_map_type(f->ctx, BPF_MAP_TYPE_TASK_STORAGE))
		return err_set(e, -ENOTSUP, "requires Linux 5.11 or later (BPF task storage)");
	ebpf_object_leave_out_map(o, storage ? "threads_by_pid" : "threads");
	*ret = SONDA_TYPED_CURRENT | (storage ? SONDA_TASK_STORAGE : 0) |
	       (c->n_pids ? CALLS_OF_PIDS : 0) | (c->of_user ? CALLS_OF_USER : 0)
#if defined(__x86_64__)
	       | SONDA_ON_X86_64
#endif
		;
	return 0;
}

static int fill_maps(const struct ebpf_object *o, const struct calls_config *c)
{
	int specs = ebpf_object_map(o, "specs"), followed = ebpf_object_map(o, "followed");
	const uint8_t yes = 1;

	for (uint32_t i = 0; i < CALLS_SPECS; i++)
		if (bpf_map_update_elem(specs, &i, &c->specs[i], BPF_ANY) < 0)
			return -errno;
	for (size_t i = 0; i < c->n_pids; i++)
		if (bpf_map_update_elem(followed, &c->pids[i], &yes, BPF_ANY) < 0)
			return -errno;
	return 0;
}

static int calls_program_load_and_attach(struct calls_program *p, const struct calls_config *c,
					 const struct ebpf_features *f, struct err_text *e)
{
	struct ebpf_scope scope = {.own_pid = c->settings.own[0], .subject = &c->subject};
	uint32_t switches = 0;
	int r;

	if (ebpf_choose_variant(f, &variant, 1, 0, e) < 0)
		return -ENOTSUP;
	r = ebpf_object_open(&variant.image, &p->object, e);
	if (r == 0)
		r = set_switches(p->object, c, f, &switches, e);
	if (r < 0)
		return r;
	ebpf_object_set_constants(p->object, ".rodata.calls", &c->settings, sizeof(c->settings));
	r = ebpf_object_load(p->object, &scope, switches, e);
	if (r < 0)
		return r;
	r = fill_maps(p->object, c);
	if (r == 0)
		r = ebpf_ring_init(&p->ring, ebpf_object_map(p->object, "calls"), RING_BYTES);
	if (r == 0)
		r = map_cpus_init(&p->cpus, ebpf_object_map(p->object, "cpus"), ebpf_count_cpus(),
				  sizeof(struct calls_cpu));
	if (r < 0)
		return err_set(e, r, "calls.bpf.o: cannot set up the maps: %s", strerror(-r));
	r = ebpf_object_attach(p->object, e);
	return r < 0 ? r : new_groups_join(&p->new_groups, p->object, &c->subject, e);
}

int calls_program_new(const struct calls_config *c, const char *tracefs_root,
		      struct calls_program **ret, struct err_text *e)
{
	struct calls_program *p = calloc(1, sizeof(*p));
	struct ebpf_features f;
	int r = p ? ebpf_features_new(tracefs_root, &f) : -ENOMEM;

	if (r < 0) {
		free(p);
		return r;
	}
	p->cost.stats_fd = -1;
	r = calls_program_load_and_attach(p, c, &f, e);
	ebpf_features_free(&f);
	if (r < 0)
		calls_program_free(p);
	else
		*ret = p;
	return r;
}

void calls_program_free(struct calls_program *p)
{
	if (!p)
		return;
	new_groups_leave(&p->new_groups);
	if (p->object)
		run_cost_end_measurement(&p->cost, p->object);
	ebpf_ring_deinit(&p->ring);
	map_cpus_deinit(&p->cpus);
	ebpf_object_free(p->object);
	free(p);
}

int calls_program_wakeup_fd(const struct calls_program *p)
{
	return ebpf_object_map(p->object, "calls");
}

const void *calls_program_peek(struct calls_program *p, uint32_t *ret_size)
{
	return ebpf_ring_peek(&p->ring, ret_size);
}

void calls_program_consume(struct calls_program *p)
{
	ebpf_ring_consume(&p->ring);
}

void calls_program_each_open_call(struct calls_program *p,
				  void (*fn)(void *ctx, const struct call_record *r), void *ctx)
{
	int fd = ebpf_object_open_iterator(p->object, "open_calls");
	struct call_record records[64];
	ssize_t n;

	if (fd < 0)
		return;
	do {
		n = read(fd, records, sizeof(records));
		for (ssize_t i = 0; i < n / (ssize_t)sizeof(*records); i++)
			fn(ctx, &records[i]);
	} while (n > 0 || (n < 0 && (errno == EAGAIN || errno == EINTR)));
	close(fd);
}

void calls_program_measure_cost(struct calls_program *p)
{
	run_cost_next_period(&p->cost, p->object);
}

void calls_program_read_counts(struct calls_program *p, struct calls_counts *ret)
{
	*ret = (struct calls_counts){.run_ns = 0};
	run_cost_end_measurement(&p->cost, p->object);
	(void)map_cpus_sum(&p->cpus, &ret->lost);
	ret->missed_programs = p->new_groups.missed;
	ret->run_ns = p->cost.run_ns;
	ret->runs = p->cost.runs;
	ret->measured_ns = p->cost.measured_ns;
}
