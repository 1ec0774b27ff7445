/* SPDX-License-Identifier: Apache-2.0 */
/* The programs of linux.waits without a kernel: their objects, and their records in the ring. */
#include <bpf/libbpf.h>
#include <sys/mman.h>

#include "ebpf/engine/features.h"
#include "ebpf/engine/map.h"
#include "ebpf/engine/new_groups.h"
#include "ebpf/engine/object.h"
#include "stacks/waits/waits_program.h"
#include "unit/test.h"

static bool is_out_of_memory;

int array_reserve(void *array, size_t *cap, size_t need, size_t size)
{
	void **p = array;

	if (is_out_of_memory)
		return -ENOMEM;
	if (need > *cap) {
		*p = realloc(*p, need * size);
		assert_non_null(*p);
		*cap = need;
	}
	return 0;
}

/* ---- the kernel ---- */

static int count_args(void *ctx, const char *tracepoint)
{
	return 4;
}

static bool has_member(void *ctx, const char *type, const char *member)
{
	return true;
}

static bool has_map_type(void *ctx, int type)
{
	return true;
}

int ebpf_features_new(const char *tracefs_root, struct ebpf_features *ret)
{
	*ret = (struct ebpf_features){
		.count_args = count_args, .has_member = has_member, .has_map_type = has_map_type};
	return 0;
}

void ebpf_features_free(struct ebpf_features *f)
{
}

int ebpf_choose_variant(const struct ebpf_features *f, const struct ebpf_variant *variants, int n,
			int first, struct err_text *why)
{
	return 0;
}

/* ---- the object ---- */

struct ebpf_object {
	int unused;
};

static unsigned n_opened, n_freed;
static int use_map_error;
static struct wait_event open_wait; /* what the iterator returns */

int ebpf_object_open(const struct ebpf_image *image, struct ebpf_object **ret, struct err_text *e)
{
	static struct ebpf_object objects[16];

	*ret = &objects[n_opened++];
	return 0;
}

void ebpf_object_resize(struct ebpf_object *o, const char *map, uint32_t max_entries)
{
}

void ebpf_object_leave_out_map(struct ebpf_object *o, const char *map)
{
}

void ebpf_object_leave_out_program(struct ebpf_object *o, const char *program)
{
}

int ebpf_object_use_map(struct ebpf_object *o, const char *map, int fd)
{
	return use_map_error;
}

void ebpf_object_set_constants(struct ebpf_object *o, const char *section, const void *data,
			       size_t size)
{
}

int ebpf_object_load(struct ebpf_object *o, const struct ebpf_scope *s, uint32_t switches,
		     struct err_text *e)
{
	return 0;
}

int ebpf_object_attach(struct ebpf_object *o, struct err_text *e)
{
	return 0;
}

int ebpf_object_run(const struct ebpf_object *o, const char *program, uint32_t cpu,
		    uint64_t argument)
{
	return 0;
}

int ebpf_object_open_iterator(const struct ebpf_object *o, const char *program)
{
	int fd = memfd_create("iterator", MFD_CLOEXEC);

	assert_true(fd >= 0);
	if (!strcmp(program, "open_waits"))
		assert_int_equal(pwrite(fd, &open_wait, sizeof(open_wait), 0), sizeof(open_wait));
	return fd;
}

int ebpf_object_map(const struct ebpf_object *o, const char *map)
{
	return -ENOENT;
}

void ebpf_object_free(struct ebpf_object *o)
{
	n_freed += o != NULL;
}

int map_cpus_init(struct map_cpus *m, int fd, uint32_t n_cpus, size_t value_size)
{
	return 0;
}

int map_cpus_sum(struct map_cpus *m, void *ret_sum)
{
	*(struct waits_cpu *)ret_sum = (struct waits_cpu){.ring_full = 100, .stack_lost = 200};
	return 0;
}

int new_groups_join(struct new_groups_user *u, struct ebpf_object *o, const struct subject_ids *ids,
		    struct err_text *e)
{
	return 0;
}

void new_groups_leave(struct new_groups_user *u)
{
}

/* ---- the ring ---- */

static ring_buffer_sample_fn on_record;
static void *on_record_ctx;
static const uint32_t *ring[4]; /* the records */
static size_t n_ring, ring_at;

struct ring_buffer *ring_buffer__new(int fd, ring_buffer_sample_fn fn, void *ctx,
				     const struct ring_buffer_opts *opts)
{
	on_record = fn;
	on_record_ctx = ctx;
	return (struct ring_buffer *)&ring;
}

/* As in libbpf, a record is consumed also if the callback refuses it. */
int ring_buffer__consume(struct ring_buffer *r)
{
	while (ring_at < n_ring) {
		const uint32_t *record = ring[ring_at++];
		size_t size = *record == WAIT_RECORD_EVENT ? sizeof(struct wait_event)
							   : sizeof(struct wait_stack);
		int error = on_record(on_record_ctx, (void *)record, size);

		if (error < 0)
			return error;
	}
	return 0;
}

void ring_buffer__free(struct ring_buffer *r)
{
}

static struct waits_program *new_program(void)
{
	const uint32_t own[WAITS_OWN_MAX] = {0};
	const struct waits_config c = {0};
	struct waits_program *p = NULL;
	struct err_text e;

	n_opened = n_freed = 0;
	if (waits_program_new(&c, own, NULL, "", &p, &e) < 0)
		fail_msg("%s", e.text);
	return p;
}

TEST(each_object_that_cannot_use_the_tables_is_freed)
{
	const struct unwind_maps tables = {.rows_fd = -1};
	const uint32_t own[WAITS_OWN_MAX] = {0};
	const struct waits_config c = {0};
	struct waits_program *p;
	struct err_text e;

	n_opened = n_freed = 0;
	use_map_error = -EBADF;
	assert_int_equal(waits_program_new(&c, own, &tables, "", &p, &e), -EBADF);
	use_map_error = 0;
	assert_string_equal(e.text, "cannot set up the unwind tables");
	assert_int_equal(n_opened, 2);
	assert_int_equal(n_freed, 2);
}

TEST(records_that_find_no_memory_are_counted)
{
	static const struct wait_event wait = {.type = WAIT_RECORD_EVENT};
	static const struct wait_stack stack = {.type = WAIT_RECORD_STACK};
	struct waits_program *p = new_program();
	struct waits_queue q = {0};
	struct waits_counts counts;

	ring[0] = ring[2] = ring[3] = &wait.type;
	ring[1] = &stack.type;
	n_ring = 4;
	is_out_of_memory = true;
	waits_program_read_records(p, &q);
	waits_program_read_records(p, &q);
	assert_int_equal(ring_at, 2);
	waits_program_read_counts(p, &counts);
	assert_int_equal(counts.lost.ring_full, 101);
	assert_int_equal(counts.lost.stack_lost, 201);
	/* The next records have memory again. */
	is_out_of_memory = false;
	waits_program_read_records(p, &q);
	assert_int_equal(ring_at, 4);
	assert_int_equal(q.n, 2 * (sizeof(uint64_t) + sizeof(wait)));
	waits_program_read_counts(p, &counts);
	assert_int_equal(counts.lost.ring_full, 101);
	free(q.bytes);
	waits_program_free(p);
	assert_int_equal(n_freed, n_opened);
}

TEST(waits_that_still_last_are_counted_if_they_find_no_memory)
{
	struct waits_program *p = new_program();
	struct waits_queue q = {0};
	struct waits_counts counts;

	open_wait = (struct wait_event){.type = WAIT_RECORD_EVENT};
	n_ring = 0;
	waits_program_end_waits(p, &q);
	assert_int_equal(q.n, sizeof(uint64_t) + sizeof(open_wait));
	is_out_of_memory = true;
	waits_program_end_waits(p, &q);
	is_out_of_memory = false;
	assert_int_equal(q.n, sizeof(uint64_t) + sizeof(open_wait));
	waits_program_read_counts(p, &counts);
	assert_int_equal(counts.lost.ring_full, 101);
	free(q.bytes);
	waits_program_free(p);
}
