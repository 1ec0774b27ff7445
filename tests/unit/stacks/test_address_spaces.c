/* SPDX-License-Identifier: Apache-2.0 */
#include "stacks/frames/address_spaces.h"
#include "unit/test.h"

struct rig {
	struct mapped_files files;
	struct address_spaces spaces;
};

static int setup(void **state)
{
	struct rig *r = calloc(1, sizeof(*r));

	if (!r || mapped_files_init(&r->files) < 0)
		return -1;
	r->spaces.files = &r->files;
	*state = r;
	return 0;
}

static int teardown(void **state)
{
	struct rig *r = *state;

	address_spaces_deinit(&r->spaces);
	mapped_files_deinit(&r->files);
	free(r);
	return 0;
}

static struct address_space *map(struct rig *r, int32_t pid, uint64_t start, uint64_t end,
				 uint64_t offset, const char *path)
{
	struct address_space *a = address_spaces_get(&r->spaces, pid);
	struct file_mapping m = {.start = start,
				 .end = end,
				 .offset = offset,
				 .inode = 7,
				 .path_len = (uint32_t)strlen(path)};

	assert_non_null(a);
	address_space_add_mapping(&r->spaces, a, &m, path);
	a->is_known = true;
	return a;
}

static void assert_at(struct rig *r, int32_t pid, uint64_t address, const char *path,
		      uint64_t offset)
{
	const struct process_mapping *m =
		address_space_find_mapping(address_spaces_get(&r->spaces, pid), address);

	if (!path) {
		assert_null(m);
		return;
	}
	assert_non_null(m);
	assert_string_equal(r->files.items[m->file].path, path);
	assert_int_equal(address - m->start + m->offset, offset);
}

TEST_STATE(a_later_mapping_covers_earlier_ones, setup, teardown, struct rig *r)
{
	map(r, 1, 0x1000, 0x3000, 0x10000, "/a");
	map(r, 1, 0x4000, 0x5000, 0, "/b");
	map(r, 1, 0x6000, 0x8000, 0x20000, "/c");
	map(r, 1, 0x2000, 0x7000, 0, "/new");
	assert_at(r, 1, 0xfff, NULL, 0);
	assert_at(r, 1, 0x1fff, "/a", 0x10fff);
	assert_at(r, 1, 0x2000, "/new", 0);
	assert_at(r, 1, 0x4800, "/new", 0x2800);
	assert_at(r, 1, 0x7000, "/c", 0x21000);
	assert_at(r, 1, 0x8000, NULL, 0);
}

TEST_STATE(a_known_file_is_found_when_the_table_is_full, setup, teardown, struct rig *r)
{
	struct file_mapping m = {.start = 0, .end = 1, .path_len = 2};
	uint32_t first;

	m.inode = 1;
	first = mapped_files_add(&r->files, &m, "/a");
	for (m.inode = 2; r->files.n < MAPPED_FILES_MAX; m.inode++)
		assert_int_not_equal(mapped_files_add(&r->files, &m, "/a"), MAPPED_FILE_UNKNOWN);
	assert_int_equal(mapped_files_add(&r->files, &m, "/a"), MAPPED_FILE_UNKNOWN);
	m.inode = 1;
	assert_int_equal(mapped_files_add(&r->files, &m, "/a"), first);
}

TEST_STATE(a_mapping_inside_of_another_one_splits_it, setup, teardown, struct rig *r)
{
	map(r, 1, 0x1000, 0x9000, 0, "/a");
	map(r, 1, 0x3000, 0x4000, 0, "/b");
	assert_at(r, 1, 0x2fff, "/a", 0x1fff);
	assert_at(r, 1, 0x3000, "/b", 0);
	assert_at(r, 1, 0x4000, "/a", 0x3000);
}

TEST_STATE(a_child_has_the_mappings_of_its_parent, setup, teardown, struct rig *r)
{
	map(r, 1, 0x1000, 0x2000, 0, "/a");
	address_spaces_fork(&r->spaces, 1, 2);
	map(r, 1, 0x1000, 0x2000, 0, "/other");
	assert_true(address_spaces_get(&r->spaces, 2)->is_known);
	assert_at(r, 2, 0x1000, "/a", 0);
}

TEST_STATE(a_child_of_an_unknown_process_is_unknown, setup, teardown, struct rig *r)
{
	address_spaces_fork(&r->spaces, 1, 2);
	assert_false(address_spaces_get(&r->spaces, 2)->is_known);
}

TEST_STATE(an_exec_forgets_the_mappings, setup, teardown, struct rig *r)
{
	map(r, 1, 0x1000, 0x2000, 0, "/a");
	address_spaces_exec(&r->spaces, 1);
	assert_at(r, 1, 0x1000, NULL, 0);
	assert_true(address_spaces_get(&r->spaces, 1)->is_known);
}

TEST_STATE(a_pid_that_is_used_again_is_another_process, setup, teardown, struct rig *r)
{
	map(r, 1, 0x1000, 0x2000, 0, "/a");
	address_spaces_exit(&r->spaces, 1);
	assert_false(address_spaces_get(&r->spaces, 1)->is_known);
	map(r, 1, 0x1000, 0x2000, 0, "/a");
	address_spaces_fork(&r->spaces, 99, 1);
	assert_false(address_spaces_get(&r->spaces, 1)->is_known);
}

TEST_STATE(processes_and_mappings_are_bounded, setup, teardown, struct rig *r)
{
	for (uint32_t i = 0; i < ADDRESS_SPACE_MAPPINGS_MAX + 10; i++)
		map(r, 1, i * 0x2000ull, i * 0x2000ull + 0x1000, 0, "/a");
	assert_int_equal(address_spaces_get(&r->spaces, 1)->n, ADDRESS_SPACE_MAPPINGS_MAX);
	for (int32_t pid = 2; pid <= ADDRESS_SPACES_MAX + 1; pid++)
		assert_non_null(address_spaces_get(&r->spaces, pid));
	assert_true(HASH_COUNT(r->spaces.all) <= ADDRESS_SPACES_MAX);
}

TEST_STATE(mappings_of_all_processes_together_are_bounded, setup, teardown, struct rig *r)
{
	const int32_t n = 2 * ADDRESS_SPACES_MAPPINGS_MAX / ADDRESS_SPACE_MAPPINGS_MAX + 2;
	int32_t known = 0;

	for (uint32_t i = 0; i < ADDRESS_SPACE_MAPPINGS_MAX; i++)
		map(r, 1, i * 0x2000ull, i * 0x2000ull + 0x1000, 0, "/a");
	for (int32_t pid = 2; pid < n; pid++) {
		address_spaces_fork(&r->spaces, 1, pid);
		assert_true(r->spaces.n_mappings <= 2 * ADDRESS_SPACES_MAPPINGS_MAX);
		known += address_spaces_get(&r->spaces, pid)->is_known;
	}
	assert_true(known > 0 && known < n - 2);
	for (int32_t pid = 1; pid < n; pid++)
		address_spaces_exit(&r->spaces, pid);
	assert_int_equal(r->spaces.n_mappings, 0);
}

TEST_STATE(after_a_loss_all_processes_are_unknown, setup, teardown, struct rig *r)
{
	map(r, 1, 0x1000, 0x2000, 0, "/a");
	map(r, 2, 0x1000, 0x2000, 0, "/a");
	address_spaces_remove_all(&r->spaces);
	assert_false(address_spaces_get(&r->spaces, 1)->is_known);
	assert_false(address_spaces_get(&r->spaces, 2)->is_known);
}

TEST_STATE(paths_are_bounded, setup, teardown, struct rig *r)
{
	static char path[4000];
	struct file_mapping m = {.path_len = sizeof(path)};
	uint32_t file = MAPPED_FILES_FIRST;

	memset(path, 'x', sizeof(path));
	path[0] = '/';
	for (m.inode = 1; file != MAPPED_FILE_UNKNOWN; m.inode++)
		file = mapped_files_add(&r->files, &m, path);
	assert_true(r->files.n_bytes <= MAPPED_FILES_BYTES_MAX);
	assert_true(r->files.n_bytes > MAPPED_FILES_BYTES_MAX - sizeof(path));
}

TEST_STATE(a_file_has_one_number, setup, teardown, struct rig *r)
{
	struct file_mapping m = {.inode = 1, .path_len = 2};
	uint32_t first = mapped_files_add(&r->files, &m, "/a");

	assert_int_equal(mapped_files_add(&r->files, &m, "/a"), first);
	assert_int_not_equal(mapped_files_add(&r->files, &m, "/b"), first);
	m.inode = 2;
	assert_int_not_equal(mapped_files_add(&r->files, &m, "/a"), first);
	for (unsigned i = 0; i < MAPPED_FILES_MAX; i++) {
		m.inode = i + 10;
		(void)mapped_files_add(&r->files, &m, "/a");
	}
	assert_int_equal(r->files.n, MAPPED_FILES_MAX);
	m.inode = 3;
	assert_int_equal(mapped_files_add(&r->files, &m, "/c"), MAPPED_FILE_UNKNOWN);
}

TEST_STATE(the_load_bias_is_that_of_the_segment, setup, teardown, struct rig *r)
{
	static const struct file_answer a = {
		.kind = FILE_REQUEST_ELF,
		.elf = {.n_segments = 2,
			.segments = {{0x1010, 0x2000, 0x401010}, {0x8000, 0x1000, 0x40a000}}},
	};
	struct file_mapping m = {.inode = 1, .path_len = 2};
	uint32_t file = mapped_files_add(&r->files, &m, "/a");

	mapped_files_handle_answer(&r->files, file, &a);
	assert_int_equal(mapped_file_load_bias(&r->files.items[file], 0x1000), 0x400000);
	assert_int_equal(mapped_file_load_bias(&r->files.items[file], 0x8000), 0x402000);
	assert_int_equal(mapped_file_load_bias(&r->files.items[file], 0x100000), 0);
}

TEST(a_file_with_the_inode_of_a_removed_one_is_another_file)
{
	struct mapped_files files;
	struct file_mapping m = {.inode = 7, .path_len = 4, .generation = 1};
	uint32_t first;

	assert_int_equal(mapped_files_init(&files), 0);
	first = mapped_files_add(&files, &m, "/app");
	assert_int_equal(mapped_files_add(&files, &m, "/app"), first);
	m.generation = 2;
	assert_int_not_equal(mapped_files_add(&files, &m, "/app"), first);
	mapped_files_deinit(&files);
}
