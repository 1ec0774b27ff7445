/* SPDX-License-Identifier: Apache-2.0 */
#include "ebpf/engine/object.h"
#include "stacks/samples/sample_program.h"
#include "unit/test.h"

/* ---- objects that accept no map ---- */

struct ebpf_object {
	int unused;
};

static unsigned n_opened, n_freed;

int ebpf_object_open(const struct ebpf_image *image, struct ebpf_object **ret, struct err_text *e)
{
	static struct ebpf_object objects[4];

	*ret = &objects[n_opened++];
	return 0;
}

int ebpf_object_use_map(struct ebpf_object *o, const char *map, int fd)
{
	return -EBADF;
}

void ebpf_object_free(struct ebpf_object *o)
{
	n_freed += o != NULL;
}

#if defined(__x86_64__) || defined(__aarch64__)
TEST(each_object_that_cannot_use_the_tables_is_freed)
{
	const struct unwind_maps tables = {.rows_fd = -1};
	const struct sample_program_config c = {.tables = &tables, .ring_size = 4096};
	struct sample_program *p;
	struct err_text why;

	assert_int_equal(sample_program_new(&c, &p, &why), -EBADF);
	assert_string_equal(why.text, "cannot set up the unwind tables");
	assert_int_equal(n_opened, 2);
	assert_int_equal(n_freed, 2);
}
#endif
