/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/core/err.h"
#include "bpf/samples.h"
#include "stacks/unwind/unwind_maps.h"
#include "subjects/subject.h"

/* The program of bpf/sample_filter.bpf.c, for events whose samples the kernel writes: of these only
 * those of the subject. Not for tracepoints: there a program would select for other tracers,
 * too. */
struct sample_filter;

/* Loads the program. subject: borrowed until free. Returns 0, or -errno and sets why. */
int sample_filter_new(const struct subject_ids *subject, struct sample_filter **ret,
		      struct err_text *why);
/* No-op for NULL. */
void sample_filter_free(struct sample_filter *f);
/* Attaches the program to an event, a descriptor. Returns 0 or -errno. */
int sample_filter_attach(struct sample_filter *f, int event);
/* Returns what was missed of awaited containers (ebpf/engine/new_groups.h). */
uint64_t sample_filter_count_missed(const struct sample_filter *f);

/*
 * The program of bpf/samples.bpf.c, which writes the samples of perf events to a ring of its own:
 * it unwinds programs without frame pointers. Events that it is attached to write no samples to
 * their rings, only records of mappings and tasks.
 *
 *	new, attach to each event, (peek, consume), free
 */
struct sample_program;

struct sample_program_config {
	bool has_kernel_frames, has_user_frames;
	bool is_monotonic; /* samples have CLOCK_MONOTONIC; else CLOCK_BOOTTIME */
	uint32_t n_followers; /* further events of each CPU: at most SAMPLES_FOLLOWERS_MAX */
	const struct unwind_maps *tables; /* borrowed for the call of new */
	const struct subject_ids *subject; /* whom it samples; borrowed until free */
	size_t ring_size; /* bytes of the ring of all CPUs, a power of two */
};

/* Loads the program. Returns 0, or -errno and sets why: -EOPNOTSUPP if this build or architecture
 * has none. */
int sample_program_new(const struct sample_program_config *c, struct sample_program **ret,
		       struct err_text *why);
/* No-op for NULL. */
void sample_program_free(struct sample_program *p);
/* Attaches it to an event of the CPU. followers: n_followers descriptors. Returns 0 or -errno. */
int sample_program_attach(struct sample_program *p, unsigned cpu, int event, const int *followers);
/* Returns a descriptor that is readable when the ring is half full, or a process has no tables; to
 * be watched edge-triggered. */
int sample_program_wakeup_fd(const struct sample_program *p);

/* Like sample_filter_count_missed(). */
uint64_t sample_program_count_missed(const struct sample_program *p);

/* Returns the next sample, which is in the ring until it is consumed; NULL: none. */
const struct stack_sample *sample_program_peek(struct sample_program *p);
void sample_program_consume(struct sample_program *p);
/* Reads how many samples found no room in the ring. Returns 0 or -errno. */
int sample_program_read_lost(struct sample_program *p);
/* Returns the number of these on the CPU since the last call. */
uint64_t sample_program_count_new_lost(struct sample_program *p, unsigned cpu);
