/* SPDX-License-Identifier: Apache-2.0 */
#include "stacks/samples/sample_program.h"

#include <bpf/bpf.h>
#include <errno.h>
#include <stdlib.h>

#include "base/core/mem.h"
#include "ebpf/engine/images.h"
#include "ebpf/engine/map.h"
#include "ebpf/engine/new_groups.h"
#include "ebpf/engine/object.h"
#include "ebpf/engine/ring.h"

EBPF_DECLARE(sample_filter);
EBPF_DECLARE(samples);
EBPF_DECLARE(samples_calls);

/* The second one is for kernels before 5.17, which have no bpf_loop(). */
static const struct ebpf_image images[] = {EBPF_IMAGE(samples), EBPF_IMAGE(samples_calls)};

struct sample_program {
	struct ebpf_object *object; /* owned */
	struct ebpf_ring ring;
	uint32_t n_cpus, n_followers;
	struct map_cpus cpus; /* struct sample_cpu */
	uint64_t *taken; /* owned: losses that were reported, by CPU */
	struct new_groups_user new_groups;
};

struct sample_filter {
	struct ebpf_object *object; /* owned */
	struct new_groups_user new_groups;
};

/* ---- the scope ---- */

/* Returns the scope of the program. It leaves out no process of the recorder. */
static struct ebpf_scope make_scope(const struct subject_ids *subject)
{
	return (struct ebpf_scope){.own_pid = UINT32_MAX, .subject = subject};
}

/* Call it for a loaded object: new groups of the subject are added from now on. */
static int join_new_groups(struct ebpf_object *o, const struct subject_ids *subject,
			   struct new_groups_user *u, struct err_text *why)
{
	int r = ebpf_object_attach(o, why);

	return r < 0 ? r : new_groups_join(u, o, subject, why);
}

static int load_filter(struct sample_filter *f, const struct subject_ids *subject,
		       struct err_text *why)
{
	const struct ebpf_image image = EBPF_IMAGE(sample_filter);
	const struct ebpf_scope scope = make_scope(subject);
	int r = ebpf_object_open(&image, &f->object, why);

	if (r == 0)
		r = ebpf_object_load(f->object, &scope, 0, why);
	return r < 0 ? r : join_new_groups(f->object, subject, &f->new_groups, why);
}

int sample_filter_new(const struct subject_ids *subject, struct sample_filter **ret,
		      struct err_text *why)
{
	struct sample_filter *f = calloc(1, sizeof(*f));
	int r = f ? load_filter(f, subject, why) : err_set(why, -ENOMEM, "out of memory");

	if (r < 0)
		sample_filter_free(f);
	else
		*ret = f;
	return r;
}

void sample_filter_free(struct sample_filter *f)
{
	if (!f)
		return;
	new_groups_leave(&f->new_groups);
	ebpf_object_free(f->object);
	free(f);
}

int sample_filter_attach(struct sample_filter *f, int event)
{
	return ebpf_object_attach_to_event(f->object, "on_event", event);
}

uint64_t sample_filter_count_missed(const struct sample_filter *f)
{
	return f->new_groups.missed;
}

/* ---- the program that takes samples ---- */

#if defined(__x86_64__)
#define ARCHITECTURE SONDA_ON_X86_64
#else
#define ARCHITECTURE 0 /* arm64 */
#endif

#if defined(__x86_64__) || defined(__aarch64__)
static uint32_t sample_program_choose_switches(const struct sample_program_config *c)
{
	return ARCHITECTURE | (c->has_kernel_frames ? SAMPLES_KERNEL : 0) |
	       (c->has_user_frames ? SAMPLES_USER : 0) | (c->is_monotonic ? SAMPLES_MONOTONIC : 0);
}

/* Gives the program the tables that all programs that unwind share. */
static int use_unwind_tables(struct ebpf_object *o, const struct unwind_maps *tables)
{
	int r = ebpf_object_use_map(o, "unwind_rows", tables->rows_fd);

	if (r == 0)
		r = ebpf_object_use_map(o, "unwind_rules", tables->rules_fd);
	if (r == 0)
		r = ebpf_object_use_map(o, "unwind_files", tables->files_fd);
	return r ? r : ebpf_object_use_map(o, "unwind_state", tables->state_fd);
}

/* Opens and loads an image as the object of p. Returns 0, or -errno and sets why. */
static int load_image(struct sample_program *p, const struct sample_program_config *c,
		      const struct ebpf_image *image, struct err_text *why)
{
	const struct ebpf_scope scope = make_scope(c->subject);
	_cleanup_(ebpf_object_freep) struct ebpf_object *o = NULL;
	int r = ebpf_object_open(image, &o, why);

	if (r < 0)
		return r;
	r = use_unwind_tables(o, c->tables);
	if (r < 0)
		return err_set(why, r, "cannot set up the unwind tables");
	ebpf_object_resize(o, "samples", (uint32_t)c->ring_size);
	ebpf_object_resize(o, "followers", p->n_cpus * SAMPLES_FOLLOWERS_MAX);
	ebpf_object_set_constants(o, ".rodata.samples", &c->n_followers, sizeof(c->n_followers));
	r = ebpf_object_load(o, &scope, sample_program_choose_switches(c), why);
	if (r == 0)
		p->object = TAKE_PTR(o);
	return r;
}

static int load_program(struct sample_program *p, const struct sample_program_config *c,
			struct err_text *why)
{
	struct err_text second;
	int r = load_image(p, c, &images[0], why);

	/* If both fail, the error of the first one is more useful. */
	if (r < 0 && r != -EPERM && load_image(p, c, &images[1], &second) == 0)
		r = 0;
	return r;
}

static int map_ring_and_counters(struct sample_program *p, size_t ring_size)
{
	int r = ebpf_ring_init(&p->ring, ebpf_object_map(p->object, "samples"), ring_size);

	if (r == 0)
		r = map_cpus_init(&p->cpus, ebpf_object_map(p->object, "cpus"), p->n_cpus,
				  sizeof(struct sample_cpu));
	p->taken = calloc(p->n_cpus, sizeof(*p->taken));
	return r == 0 && !p->taken ? -ENOMEM : r;
}

int sample_program_new(const struct sample_program_config *c, struct sample_program **ret,
		       struct err_text *why)
{
	struct sample_program *p = calloc(1, sizeof(*p));
	int r;

	if (!p)
		return err_set(why, -ENOMEM, "out of memory");
	p->n_cpus = ebpf_count_cpus();
	p->n_followers = c->n_followers;
	r = load_program(p, c, why);
	if (r == 0)
		r = join_new_groups(p->object, c->subject, &p->new_groups, why);
	if (r == 0) {
		r = map_ring_and_counters(p, c->ring_size);
		if (r < 0)
			(void)err_set(why, r, "cannot map the ring of samples");
	}
	if (r < 0)
		sample_program_free(p);
	else
		*ret = p;
	return r;
}
#else
int sample_program_new(const struct sample_program_config *c, struct sample_program **ret,
		       struct err_text *why)
{
	(void)images;
	return err_set(why, -EOPNOTSUPP, "not supported on this architecture");
}
#endif

void sample_program_free(struct sample_program *p)
{
	if (!p)
		return;
	new_groups_leave(&p->new_groups);
	ebpf_ring_deinit(&p->ring);
	map_cpus_deinit(&p->cpus);
	ebpf_object_free(p->object);
	free(p->taken);
	free(p);
}

int sample_program_attach(struct sample_program *p, unsigned cpu, int event, const int *followers)
{
	int fd = ebpf_object_map(p->object, "followers");

	for (uint32_t i = 0; i < p->n_followers; i++) {
		uint32_t at = cpu * SAMPLES_FOLLOWERS_MAX + i;

		if (bpf_map_update_elem(fd, &at, &followers[i], BPF_ANY) < 0)
			return -errno;
	}
	return ebpf_object_attach_to_event(p->object, "on_sample", event);
}

int sample_program_wakeup_fd(const struct sample_program *p)
{
	return ebpf_object_map(p->object, "samples");
}

static bool is_complete_sample(const struct stack_sample *s, uint32_t size)
{
	size_t head = offsetof(struct stack_sample, addresses);

	return size >= head && s->n_kernel <= UNWIND_FRAMES_MAX && s->n_user <= UNWIND_FRAMES_MAX &&
	       (size - head) / sizeof(*s->addresses) >= s->n_kernel + s->n_user;
}

uint64_t sample_program_count_missed(const struct sample_program *p)
{
	return p->new_groups.missed;
}

const struct stack_sample *sample_program_peek(struct sample_program *p)
{
	const struct stack_sample *s;
	uint32_t size;

	while ((s = ebpf_ring_peek(&p->ring, &size)) && !is_complete_sample(s, size))
		ebpf_ring_consume(&p->ring);
	return s;
}

void sample_program_consume(struct sample_program *p)
{
	ebpf_ring_consume(&p->ring);
}

int sample_program_read_lost(struct sample_program *p)
{
	return map_cpus_read(&p->cpus);
}

uint64_t sample_program_count_new_lost(struct sample_program *p, unsigned cpu)
{
	uint64_t all, n;

	if (cpu >= p->n_cpus)
		return 0;
	all = ((const struct sample_cpu *)map_cpus_at(&p->cpus, cpu))->lost;
	n = all - p->taken[cpu];
	p->taken[cpu] = all;
	return n;
}
