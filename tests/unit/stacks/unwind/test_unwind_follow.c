/* SPDX-License-Identifier: Apache-2.0 */
#include "stacks/unwind/unwind_follow.h"

#include <string.h>

#include "base/core/clock.h"
#include "stacks/frames/mapping_records.h"
#include "stacks/unwind/unwind_tables.h"
#include "unit/fixture.h"

/* The fake tables: the calls that they got. */
static struct {
	unsigned n_wanted, n_lacked;
	int32_t pid;
	struct file_mapping m; /* the last one */
	char path[64], lacked[64];
} tables;

void unwind_tables_request_file(int32_t pid, const struct file_mapping *m, const char *path,
				bool lacks)
{
	tables.n_wanted++;
	tables.pid = pid;
	tables.m = *m;
	assert_true(m->path_len < sizeof(tables.path));
	snprintf(tables.path, sizeof(tables.path), "%.*s", (int)m->path_len, path);
	if (lacks) {
		tables.n_lacked++;
		strcpy(tables.lacked, tables.path);
	}
}

static struct mapped_files files;
static struct address_spaces spaces = {.files = &files};
static struct address_space *space;

static void map(uint64_t start, const char *path, uint64_t inode)
{
	const struct file_mapping m = {.start = start,
				       .end = start + 0x1000,
				       .offset = 0x3000,
				       .inode = inode,
				       .major = 8,
				       .minor = 1,
				       .path_len = (uint32_t)strlen(path),
				       .generation = 4};

	address_space_add_mapping(&spaces, space, &m, path);
}

SETUP
{
	memset(&tables, 0, sizeof(tables));
	assert_int_equal(mapped_files_init(&files), 0);
	space = address_spaces_get(&spaces, 7);
	space->is_known = true;
	map(0x10000, "/bin/a", 5);
	map(0x20000, "/lib/b", 6);
	map(0x30000, "//anon", 0);
	map(0x40000, "[vdso]", 0);
}

TEARDOWN
{
	address_spaces_deinit(&spaces);
	mapped_files_deinit(&files);
}

static unsigned followed_at(uint64_t ms)
{
	const uint64_t addresses[] = {0x20010, 0x30010, 0x50010};
	unsigned before = tables.n_lacked;

	unwind_request_files_of_stack(space, &files, addresses, ARRAY_SIZE(addresses),
				      ms * NS_PER_MS);
	return tables.n_lacked - before;
}

FIXTURE_TEST(the_files_of_a_process_are_wanted_and_those_of_the_stack_are_lacking)
{
	assert_int_equal(followed_at(1000), 1);
	assert_int_equal(tables.n_wanted, 3);
	assert_string_equal(tables.lacked, "/lib/b");
	assert_int_equal(tables.pid, 7);
	assert_int_equal(tables.m.start, 0x20000);
	assert_int_equal(tables.m.offset, 0x3000);
	assert_int_equal(tables.m.inode, 6);
	assert_int_equal(tables.m.major, 8);
	assert_int_equal(tables.m.minor, 1);
	assert_int_equal(tables.m.generation, 4);
}

FIXTURE_TEST(a_process_whose_mappings_are_unknown_is_not_followed)
{
	space->is_known = false;
	assert_int_equal(followed_at(1000), 0);
}

FIXTURE_TEST(a_process_with_many_mappings_is_followed_seldom)
{
	assert_int_equal(followed_at(1000), 1);
	assert_int_equal(followed_at(1000 + UNWIND_FOLLOW_MS - 1), 0);
	assert_int_equal(followed_at(1000 + UNWIND_FOLLOW_MS), 1);
	for (uint64_t i = 0; i < 16000; i++)
		map(0x100000 + i * 0x2000, "/lib/b", 6);
	assert_int_equal(followed_at(2000), 0);
	assert_int_equal(followed_at(3000), 1);
}

FIXTURE_TEST(a_file_that_is_mapped_is_wanted)
{
	struct {
		struct perf_event_header header;
		uint32_t pid, tid;
		uint64_t start, length, offset;
		uint32_t major, minor;
		uint64_t inode, generation;
		uint32_t protection, flags;
		char path[16], end[MAPPING_RECORD_END];
	} r = {.header = {.type = PERF_RECORD_MMAP2, .size = sizeof(r)},
	       .pid = 9,
	       .start = 0x5000,
	       .length = 0x1000,
	       .inode = 3,
	       .generation = 8,
	       .path = "/lib/c"};

	unwind_follow_record(&r.header);
	assert_int_equal(tables.n_wanted, 1);
	assert_int_equal(tables.n_lacked, 0);
	assert_int_equal(tables.pid, 9);
	assert_string_equal(tables.path, "/lib/c");
	assert_int_equal(tables.m.end, 0x6000);
	assert_int_equal(tables.m.generation, 8);
	strcpy(r.path, "//anon");
	unwind_follow_record(&r.header);
	strcpy(r.path, "[vdso]");
	unwind_follow_record(&r.header);
	r.header.size = offsetof(__typeof__(r), path); /* too short */
	strcpy(r.path, "/lib/d");
	unwind_follow_record(&r.header);
	assert_int_equal(tables.n_wanted, 1);
}
