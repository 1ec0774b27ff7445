/* SPDX-License-Identifier: Apache-2.0 */
#include "stacks/frames/data_objects.h"
#include "unit/test.h"

struct rig {
	struct mapped_files files;
	struct stacks stacks;
	struct data_objects objects;
	struct file_answer answer;
};

static int setup(void **state)
{
	struct rig *r = calloc(1, sizeof(*r));

	if (!r || mapped_files_init(&r->files) < 0)
		return -1;
	stacks_init(&r->stacks, &r->files, false);
	*state = r;
	return 0;
}

static int teardown(void **state)
{
	struct rig *r = *state;

	data_objects_remove_all(&r->objects);
	stacks_deinit(&r->stacks);
	mapped_files_deinit(&r->files);
	free(r);
	return 0;
}

/* Adds a record to the answer: the address with that index is in the mapping. */
static void add_record(struct rig *r, uint32_t address, const char *path, uint64_t inode,
		       bool is_behind)
{
	struct file_data_mapping d = {
		.m = {0x10000, 0x20000, 0x3000, inode, 8, 1, (uint32_t)strlen(path), 0},
		.address = address,
		.is_behind = is_behind};
	char *at = r->answer.body + r->answer.n_bytes;

	memcpy(at, &d, sizeof(d));
	memset(at + sizeof(d), 0, (strlen(path) + 7) / 8 * 8);
	memcpy(at + sizeof(d), path, strlen(path));
	r->answer.n_bytes += (uint32_t)(sizeof(d) + (strlen(path) + 7) / 8 * 8);
	r->answer.n++;
}

static uint32_t next(struct rig *r, uint64_t addresses[static FILE_NAMES_MAX])
{
	uint32_t tid;

	r->answer.n = r->answer.n_bytes = 0;
	return data_objects_choose_request(&r->objects, &tid, addresses);
}

/* Returns the index of the address in the request. */
static uint32_t index_of(const uint64_t *addresses, uint32_t n, uint64_t address)
{
	for (uint32_t i = 0; i < n; i++)
		if (addresses[i] == address)
			return i;
	fail_msg("the address is not requested");
	return 0;
}

static const char *name_of(struct rig *r, int32_t pid, uint64_t address)
{
	static char name[DATA_OBJECT_NAME_MAX];

	return data_objects_format_name(&r->objects, pid, address, &r->stacks, name) ? name : "?";
}

TEST_STATE(memory_has_the_name_of_its_kind, setup, teardown, struct rig *r)
{
	static const struct {
		const char *path, *name;
	} kinds[] = {{"[heap]", "heap"},
		     {"[stack]", "stack"},
		     {"//anon", "anonymous"},
		     {"[anon:x]", "anonymous"},
		     {NULL, "?"}};
	uint64_t addresses[FILE_NAMES_MAX];
	uint32_t n;

	for (size_t i = 0; i < ARRAY_SIZE(kinds); i++)
		data_objects_add(&r->objects, 7, 7, 0x10000 + 8 * i, 1);
	n = next(r, addresses);
	assert_int_equal(n, ARRAY_SIZE(kinds));
	for (size_t i = 0; i < ARRAY_SIZE(kinds); i++)
		if (kinds[i].path)
			add_record(r, index_of(addresses, n, 0x10000 + 8 * i), kinds[i].path, 0,
				   false);
	data_objects_handle_answer(&r->objects, &r->answer, &r->stacks);
	for (size_t i = 0; i < ARRAY_SIZE(kinds); i++)
		assert_string_equal(name_of(r, 7, 0x10000 + 8 * i), kinds[i].name);
	assert_string_equal(name_of(r, 8, 0x10000), "?");
}

TEST_STATE(files_have_variables_and_offsets, setup, teardown, struct rig *r)
{
	uint64_t addresses[FILE_NAMES_MAX];
	struct mapped_file *f;
	uint32_t n;

	data_objects_add(&r->objects, 7, 7, 0x10008, 1); /* offset 0x3008 in the file */
	data_objects_add(&r->objects, 7, 7, 0x10010, 1);
	data_objects_add(&r->objects, 7, 7, 0x12000, 1); /* behind the file: in .bss */
	data_objects_add(&r->objects, 7, 7, 0x1f000, 1); /* behind .bss */
	n = next(r, addresses);
	assert_int_equal(n, 4);
	add_record(r, index_of(addresses, n, 0x10008), "/usr/bin/app", 5, false);
	add_record(r, index_of(addresses, n, 0x10010), "/usr/bin/app", 5, false);
	add_record(r, index_of(addresses, n, 0x12000), "/usr/bin/app", 5, true);
	add_record(r, index_of(addresses, n, 0x1f000), "/usr/bin/app", 5, true);
	data_objects_handle_answer(&r->objects, &r->answer, &r->stacks);
	/* Nothing is known of the file yet. */
	assert_string_equal(name_of(r, 7, 0x10008), "app+0x3008");
	assert_string_equal(name_of(r, 7, 0x12000), "anonymous");
	f = &r->files.items[MAPPED_FILES_FIRST];
	f->elf = calloc(1, sizeof(*f->elf));
	f->elf->n_data = 1;
	f->elf->data[0] = (struct elf_segment){0x3000, 0x4000, 0x403000};
	assert_string_equal(name_of(r, 7, 0x10008), "app+0x403008");
	assert_string_equal(name_of(r, 7, 0x12000), "app+0x405000");
	assert_string_equal(name_of(r, 7, 0x1f000), "anonymous");
	for (size_t i = 0; i < r->stacks.n_frames; i++)
		if (r->stacks.frames[i].offset == 0x3010)
			r->stacks.frames[i].name =
				(uint32_t)stacks_add_name(&r->stacks, "lock+0x8", 8);
	assert_string_equal(name_of(r, 7, 0x10010), "app:lock+0x8");
}

TEST_STATE(requests_are_of_one_process_and_bounded, setup, teardown, struct rig *r)
{
	uint64_t addresses[FILE_NAMES_MAX];
	unsigned requests = 0;
	uint32_t n, all = 0;

	for (uint64_t i = 0; i < 100 * FILE_NAMES_MAX; i++)
		data_objects_add(&r->objects, 7 + (int32_t)(i % 2), 7, 0x1000 + i, 1);
	while ((n = next(r, addresses))) {
		requests++;
		all += n;
		for (uint32_t i = 0; i < n; i++)
			assert_int_equal(r->objects.pid,
					 7 + (int32_t)((addresses[i] - 0x1000) % 2));
		data_objects_handle_answer(&r->objects, NULL, &r->stacks);
	}
	assert_int_equal(requests, DATA_OBJECTS_REQUESTS_MAX);
	assert_int_equal(all, DATA_OBJECTS_REQUESTS_MAX * FILE_NAMES_MAX);
	r->objects.n_requests = 0;
	assert_true(next(r, addresses) > 0);
}

TEST_STATE(an_object_is_read_again_after_a_while_and_after_an_exec, setup, teardown, struct rig *r)
{
	uint64_t addresses[FILE_NAMES_MAX];

	data_objects_add(&r->objects, 7, 7, 0x10000, 1);
	assert_int_equal(next(r, addresses), 1);
	data_objects_remove_process(&r->objects, 7); /* before the answer */
	add_record(r, 0, "[heap]", 0, false);
	data_objects_handle_answer(&r->objects, &r->answer, &r->stacks);
	assert_string_equal(name_of(r, 7, 0x10000), "?");
	data_objects_add(&r->objects, 7, 7, 0x10000, 2);
	assert_int_equal(next(r, addresses), 1);
	add_record(r, 0, "[heap]", 0, false);
	data_objects_handle_answer(&r->objects, &r->answer, &r->stacks);
	data_objects_add(&r->objects, 7, 7, 0x10000, 1 + DATA_OBJECT_KEEP_NS);
	assert_int_equal(next(r, addresses), 0);
	data_objects_add(&r->objects, 7, 7, 0x10000, 2 + DATA_OBJECT_KEEP_NS);
	assert_int_equal(next(r, addresses), 1);
}

TEST_STATE(too_many_objects_are_forgotten, setup, teardown, struct rig *r)
{
	for (uint64_t i = 0; i <= DATA_OBJECTS_MAX; i++)
		data_objects_add(&r->objects, 7, 7, 8 * i, 1);
	assert_int_equal(HASH_COUNT(r->objects.all), 1);
	assert_int_equal(r->objects.n_new, 1);
}
