/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Opens the events of the CPUs. If the config asks for the stacks of programs without frame
 * pointers, a program takes the samples; if the kernel, this build or the event does not allow
 * that, the kernel does, by frame pointers, and the trace records why.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <event2/event.h>

#include "base/core/mem.h"
#include "base/event_loop/event_free.h"
#include "base/system/log.h"
#include "stacks/samples/perf_session.h"

#define RING_SIZE_MAX (64u << 20) /* bytes of the ring of the program */

/* ---- the program ---- */

/* Returns the size of the program's ring, which is one for all CPUs. */
static size_t program_ring_size(const struct perf_session *s)
{
	size_t size = s->perf.ring_pages * (size_t)sysconf(_SC_PAGESIZE);

	for (unsigned n = 1; n < s->base.rings.n_cpus && size < RING_SIZE_MAX; n *= 2)
		size *= 2;
	return size;
}

/* Returns 0; or -errno, and sets why the program cannot take the samples of this event. */
static int load_program(struct perf_session *s, struct err_text *why)
{
	struct sample_program_config c = {
		.has_kernel_frames = s->perf.has_kernel_frames,
		.has_user_frames = true,
		.n_followers = s->perf.n_followers,
		.is_monotonic = s->perf.clock == CLOCK_MONOTONIC,
		.subject = *s->by_proc.text ? NULL : &s->ids,
		.ring_size = program_ring_size(s),
	};

	int r;

	if (s->perf.attr.type == PERF_TYPE_TRACEPOINT)
		return err_set(why, -EOPNOTSUPP, "BPF programs cannot sample tracepoints");
	if (s->perf.clock != CLOCK_BOOTTIME && s->perf.clock != CLOCK_MONOTONIC)
		return err_set(why, -EOPNOTSUPP,
			       "timestamp_clock must be CLOCK_BOOTTIME or CLOCK_MONOTONIC, the "
			       "clocks that BPF programs can read");
	r = unwind_tables_join(&s->tables, s->base.loop);
	if (r < 0)
		return err_set(why, r, "%s",
			       r == -EPERM ? "CAP_BPF and CAP_PERFMON are required"
					   : "cannot create the unwind tables");
	c.tables = unwind_tables_maps();
	return sample_program_new(&c, &s->program, why);
}

static void free_program(struct perf_session *s)
{
	event_freep(&s->base.program_wakeup);
	sample_program_free(s->program);
	sample_filter_free(s->filter);
	s->program = NULL;
	s->filter = NULL;
	unwind_tables_leave(&s->tables);
}

/* ---- the events ---- */

static bool is_cpu_chosen(const Pb__PerfEventConfig *m, unsigned cpu)
{
	for (size_t i = 0; i < m->n_target_cpu; i++)
		if (m->target_cpu[i] == cpu)
			return true;
	return m->n_target_cpu == 0;
}

/* Closes the descriptors from number n on. */
static void close_followers(struct perf_session *s, size_t n)
{
	while (s->n_followers > n)
		close(s->followers[--s->n_followers]);
}

/* Opens the further events of a CPU into the group of its event, with which they are enabled. */
static int open_followers(struct perf_session *s, const struct cpu_ring *ring)
{
	for (uint32_t i = 0; i < s->perf.n_followers; i++) {
		int fd = (int)syscall(SYS_perf_event_open, &s->perf.followers[i], -1,
				      (int)ring->cpu, ring->fd, PERF_FLAG_FD_CLOEXEC);

		if (fd < 0)
			return -errno;
		s->followers[s->n_followers++] = fd;
	}
	return 0;
}

/* Opens the event of a CPU and its followers, and attaches the programs. Returns 0; or -errno, and
 * nothing stays open. */
static int open_event(struct perf_session *s, unsigned cpu)
{
	int error = cpu_rings_add(&s->base.rings, &s->perf.attr, cpu, &s->perf.ring_pages);
	struct cpu_ring *ring;
	int *followers = s->followers + s->n_followers;

	if (error < 0)
		return error;
	ring = &s->base.rings.items[s->base.rings.n - 1];
	if (*s->perf.filter)
		error = cpu_ring_set_filter(ring, s->perf.filter);
	if (error == 0)
		error = open_followers(s, ring);
	if (error == 0 && s->program)
		error = sample_program_attach(s->program, cpu, ring->fd, followers);
	if (error == 0 && s->filter)
		error = sample_filter_attach(s->filter, ring->fd);
	if (error < 0) {
		close_followers(s, (size_t)(followers - s->followers));
		cpu_ring_close(&s->base.rings.items[--s->base.rings.n]);
	}
	return error;
}

static const char *advice_for_error(int error, const struct perf_config *c)
{
	if (error == -ENOENT || error == -EOPNOTSUPP || error == -ENODEV)
		return c->attr.type == PERF_TYPE_HARDWARE
			       ? "; this machine has no such hardware counter; use SW_CPU_CLOCK"
			       : "; this machine has no such event";
	if (error == -EINVAL && c->attr.freq)
		return "; the frequency may be above kernel.perf_event_max_sample_rate";
	if (error == -EACCES || error == -EPERM)
		return "; it needs root, or CAP_PERFMON";
	return "";
}

/* Opens the events of the chosen CPUs; a CPU that is offline has none. Returns 0 if there is one
 * and no CPU failed; with ignore_open_failure some CPUs may fail. On failure closes all of them. */
static int open_events(struct perf_session *s)
{
	int failed = -ENODEV;

	for (unsigned cpu = 0; cpu < s->base.rings.n_cpus; cpu++) {
		int error = is_cpu_chosen(s->perf.message, cpu) ? open_event(s, cpu) : -ENODEV;

		if (error == 0 || error == -ENODEV)
			continue;
		failed = error;
		if (!s->perf.message->ignore_open_failure)
			break;
	}
	if (s->base.rings.n > 0 && (failed == -ENODEV || s->perf.message->ignore_open_failure))
		return 0;
	close_followers(s, 0);
	cpu_rings_close(&s->base.rings);
	return failed;
}

/* Loads the program and opens the events with it. The kernel must not compute stacks as well, for
 * samples that are never read. Returns 0; or -errno with the reason in by_frame_pointers and
 * no_program, and the events are as they were. */
static int open_with_program(struct perf_session *s)
{
	uint64_t sample_type = s->perf.attr.sample_type;
	int r = s->no_program = load_program(s, &s->by_frame_pointers);

	if (r < 0) {
		free_program(s);
		return r;
	}
	s->perf.attr.sample_type &= ~(uint64_t)PERF_SAMPLE_CALLCHAIN;
	s->perf.attr.wakeup_watermark = CPU_RINGS_RECORDS_WATERMARK;
	r = stack_session_watch_program(&s->base, sample_program_wakeup_fd(s->program));
	if (r == 0)
		r = open_events(s);
	if (r == 0)
		return 0;
	(void)err_set(&s->by_frame_pointers, r, "BPF programs cannot be attached to this event");
	s->perf.attr.sample_type = sample_type;
	s->perf.attr.wakeup_watermark = 0;
	free_program(s);
	s->no_program = r;
	return r;
}

int perf_events_select_by_proc(struct perf_session *s)
{
	const Pb__SubjectConfig *c = s->config->subject_config;

	if (c->wait && (c->n_containers || c->n_pods))
		return err_set(&s->base.refused, -EOPNOTSUPP,
			       "waiting for containers or pods requires a BPF program that filters "
			       "the samples: %s",
			       s->by_proc.text);
	return subject_find_groups(c, s->ids.sys_root, &s->subject, &s->base.refused);
}

/* Opens the events of the kernel. BPF programs select the samples of the subject if they can; else
 * /proc does. */
static int open_with_filter(struct perf_session *s)
{
	struct err_text *why = &s->by_proc;
	int r = s->perf.attr.type == PERF_TYPE_TRACEPOINT
			? err_set(why, -EOPNOTSUPP, "tracepoints cannot be sampled by BPF programs")
			: sample_filter_new(&s->ids, &s->filter, why);

	if (r == 0) {
		r = open_events(s);
		if (r == 0)
			return 0;
		sample_filter_free(TAKE_PTR(s->filter));
		(void)err_set(why, r, "BPF programs cannot be attached to this event");
	}
	r = perf_events_select_by_proc(s);
	return r < 0 ? r : open_events(s);
}

int perf_events_open(struct perf_session *s)
{
	int r = cpu_rings_init(&s->base.rings);

	if (r < 0)
		return r;
	s->followers = calloc(s->base.rings.n_cpus, SAMPLES_FOLLOWERS_MAX * sizeof(*s->followers));
	if (!s->followers)
		return -ENOMEM;
	if (s->perf.n_followers)
		s->perf.attr.read_format = PERF_FORMAT_GROUP;
	if (!s->perf.unwinds || open_with_program(s) < 0)
		r = s->ids.is_set && !*s->by_proc.text ? open_with_filter(s) : open_events(s);
	if (r < 0) {
		*s->by_frame_pointers.text = '\0';
		if (*s->base.refused.text)
			return r;
		log_warn("linux.perf: perf_event_open: %s%s", strerror(-r),
			 advice_for_error(r, &s->perf));
		return r;
	}
	if (*s->by_frame_pointers.text)
		log_warn("linux.perf: user stacks are unwound with frame pointers only: %s: %s",
			 s->by_frame_pointers.text, strerror(-s->no_program));
	s->base.delays_rings = s->program != NULL;
	return stack_session_watch_rings(&s->base);
}

int perf_events_enable(struct perf_session *s, bool yes)
{
	if (s->base.program_wakeup && yes)
		event_add(s->base.program_wakeup, NULL);
	else if (s->base.program_wakeup)
		event_del(s->base.program_wakeup);
	return cpu_rings_enable(&s->base.rings, yes);
}

void perf_events_close(struct perf_session *s)
{
	close_followers(s, 0);
	freep(&s->followers);
	cpu_rings_close(&s->base.rings);
	free_program(s);
}
