/* SPDX-License-Identifier: Apache-2.0 */
#include "ebpf/families/families.h"

#include <stdio.h>

#include "base/core/mem.h"
#include "bpf/interrupts.h"
#include "ebpf/engine/images.h"
#include "ebpf/engine/object.h"
#include "ebpf/tracks/counter.h"

EBPF_DECLARE(interrupts);
EBPF_DECLARE(interrupts_raw);
EBPF_DECLARE(interrupts_tp);

static const struct ebpf_need needs_of_tp_btf[] = {
	NEED_TP_BTF("softirq_entry", 1, 1),
	NEED_TP_BTF("softirq_exit", 1, 1),
	NEED_TP_BTF("irq_handler_entry", 2, 2),
	NEED_TP_BTF("irq_handler_exit", 3, 3),
	NEED_END,
};

static const struct ebpf_need needs_of_raw_tp[] = {
	NEED_RAW_TP("irq/softirq_entry", "vec", 1, 1),
	NEED_RAW_TP("irq/softirq_exit", "vec", 1, 1),
	NEED_RAW_TP("irq/irq_handler_entry", "irq", 2, 2),
	NEED_RAW_TP("irq/irq_handler_exit", "irq", 3, 3),
	NEED_END,
};

static const struct ebpf_need needs_of_tp[] = {
	NEED_EVENT("irq/softirq_entry", "vec"),
	NEED_FIELD("irq/softirq_exit", "vec", INTERRUPTS_VECTOR),
	NEED_EVENT("irq/irq_handler_entry", "irq"),
	NEED_EVENT("irq/irq_handler_exit", "irq"),
	NEED_END,
};

static const struct ebpf_variant variants[] = {
	{"tp_btf", EBPF_IMAGE(interrupts), needs_of_tp_btf},
	{"raw_tp", EBPF_IMAGE(interrupts_raw), needs_of_raw_tp},
	{"tp", EBPF_IMAGE(interrupts_tp), needs_of_tp},
};

/* Names as in /proc/softirqs. */
static const char *const vectors[INTERRUPTS_SOFTIRQS] = {
	"HI",	    "TIMER",   "NET_TX", "NET_RX",  "BLOCK",
	"IRQ_POLL", "TASKLET", "SCHED",	 "HRTIMER", "RCU",
};

/* Tracks of softirqs, then handlers, then the timer: each is created at its first event. */
#define KINDS (INTERRUPTS_SOFTIRQS + 2)

struct cpu {
	uint32_t group; /* TRACK_ROOT: no track yet */
	struct ebpf_timed tracks[KINDS];
};

static uint32_t interrupts_prepare(struct ebpf_object *o, const struct ebpf_features *f,
				   uint32_t n_cpus)
{
	if (f->count_args(f->ctx, "local_timer_entry") != 1 &&
	    !ebpf_has_field(f, "irq_vectors/local_timer_entry", "vector")) {
		ebpf_object_leave_out_program(o, "on_timer");
		ebpf_object_leave_out_program(o, "on_timer_end");
	}
	return 0;
}

static struct ebpf_timed interrupts_add_tracks(const struct ebpf_run *r, uint32_t group,
					       size_t kind)
{
	char time[64], count[64];

	if (kind == INTERRUPTS_SOFTIRQS)
		return ebpf_add_timed(r, group, "hardirq time", "hardirqs",
				      "device interrupt handlers, since the recording began");
	if (kind == INTERRUPTS_SOFTIRQS + 1)
		return ebpf_add_timed(
			r, group, "timer interrupt time", "timer interrupts",
			"interrupts from the CPU's own timer, since the recording began");
	snprintf(time, sizeof(time), "softirq %s time", vectors[kind]);
	snprintf(count, sizeof(count), "softirqs %s", vectors[kind]);
	return ebpf_add_timed(r, group, time, count,
			      "excluding nested interrupts, since the recording began");
}

static void set_interrupt_tracks(const struct ebpf_run *r, struct cpu *c, uint32_t cpu,
				 const struct interrupts_cpu *now)
{
	for (size_t i = 0; i < KINDS; i++) {
		const struct interrupts_sum *sum = i < INTERRUPTS_SOFTIRQS    ? &now->softirqs[i]
						   : i == INTERRUPTS_SOFTIRQS ? &now->handlers
									      : &now->timer;

		if (!sum->count)
			continue;
		if (c->group == TRACK_ROOT)
			c->group = tracks_add_cpu(r->tracks, r->group, cpu);
		if (c->tracks[i].time == TRACK_ROOT)
			c->tracks[i] = interrupts_add_tracks(r, c->group, i);
		ebpf_set_timed(r, &c->tracks[i], sum->ns, sum->count);
	}
}

static int interrupts_read_cpus(struct ebpf_run *r)
{
	struct cpu *cpus = r->state;
	int e = map_cpus_read(&r->cpus);

	for (uint32_t i = 0; i < r->n_cpus && e == 0; i++)
		set_interrupt_tracks(r, &cpus[i], i, map_cpus_at(&r->cpus, i));
	return e;
}

static void interrupts_remove_tracks(struct ebpf_run *r)
{
	const struct cpu *cpus = r->state;

	for (uint32_t i = 0; i < r->n_cpus; i++) {
		for (size_t kind = 0; kind < KINDS; kind++)
			ebpf_remove_timed(r, &cpus[i].tracks[kind]);
		tracks_remove(r->tracks, cpus[i].group);
	}
}

const struct ebpf_family interrupts_family = {
	.id = PB__EBPF_COUNTERS_CONFIG__FAMILY__INTERRUPTS,
	.name = "interrupts",
	.by_default = true,
	.variants = variants,
	.n_variants = ARRAY_SIZE(variants),
	.cpu_size = sizeof(struct interrupts_cpu),
	.state_per_cpu = sizeof(struct cpu),
	.prepare = interrupts_prepare,
	.read = interrupts_read_cpus,
	.remove_tracks = interrupts_remove_tracks,
};
