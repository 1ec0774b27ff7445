/* SPDX-License-Identifier: Apache-2.0 */
/* Perf maps and jitdumps: what programs write and append, and what no program should write. */
#include <sys/mman.h>

#include "stacks/files/jit_names.h"
#include "unit/test.h"

static int file;
static struct jit_names names;

static int setup(void **state)
{
	file = memfd_create("jit", MFD_CLOEXEC);
	names = (struct jit_names){0};
	return file < 0 ? -1 : 0;
}

static int teardown(void **state)
{
	close(file);
	jit_names_deinit(&names);
	return 0;
}

static void append(const void *bytes, size_t len)
{
	assert_int_equal(write(file, bytes, len), len);
}

/* Appends the text and reads the map. Returns whether a function took the place of another. */
static bool read_map(const char *text)
{
	bool moved;

	append(text, strlen(text));
	assert_int_equal(jit_names_read_map(&names, file, SIZE_MAX, &moved), 0);
	return moved;
}

TEST_WITH(a_map_has_a_line_for_each_function, setup, teardown)
{
	assert_false(read_map("7f001000 40 JS:*main file.js:1:1\n"
			      "7f001040 10 py::run:/usr/lib/python 3/x.py\n"
			      "7F002000 8 c\n"));
	assert_string_equal(jit_names_find(&names, 0x7f001000), "JS:*main file.js:1:1");
	assert_string_equal(jit_names_find(&names, 0x7f00103f), "JS:*main file.js:1:1");
	assert_string_equal(jit_names_find(&names, 0x7f001040), "py::run:/usr/lib/python 3/x.py");
	assert_string_equal(jit_names_find(&names, 0x7f002007), "c");
	assert_null(jit_names_find(&names, 0x7f000fff));
	assert_null(jit_names_find(&names, 0x7f001050));
	assert_null(jit_names_find(&names, 0x7f002008));
	assert_null(jit_names_find(&names, UINT64_MAX));
}

TEST_WITH(lines_that_are_appended_are_read_when_they_are_whole, setup, teardown)
{
	read_map("1000 10 first\n2000 10 sec");
	assert_null(jit_names_find(&names, 0x2000));
	assert_false(read_map("ond\n"));
	assert_string_equal(jit_names_find(&names, 0x1000), "first");
	assert_string_equal(jit_names_find(&names, 0x2000), "second");
	assert_int_equal(names.n, 2);
}

TEST_WITH(of_several_functions_at_an_address_the_last_one_counts, setup, teardown)
{
	read_map("1000 100 large\n1080 10 within\n");
	assert_string_equal(jit_names_find(&names, 0x1084), "within");
	assert_string_equal(jit_names_find(&names, 0x1090), "large");
	assert_false(read_map("3000 10 elsewhere\n"));
	assert_true(read_map("1080 20 newer\n"));
	assert_string_equal(jit_names_find(&names, 0x1084), "newer");
	assert_string_equal(jit_names_find(&names, 0x107f), "large");
	assert_true(read_map("f80 100 over both\n"));
	assert_string_equal(jit_names_find(&names, 0x1010), "over both");
	assert_string_equal(jit_names_find(&names, 0x1084), "newer");
	assert_false(read_map("f80 100 over both\n"));
}

TEST_WITH(lines_that_are_none_are_skipped, setup, teardown)
{
	read_map("\nmain\n1000\n1000 10\n1000 10 \n 1000 10 blank\n0x1000 10 prefix\n1000 0 empty\n"
		 "ffffffffffffffff 10 over\n11112222333344445 1 long\n-1 1 sign\n5000 1 good\n");
	assert_int_equal(names.n, 1);
	assert_string_equal(jit_names_find(&names, 0x5000), "good");
}

TEST_WITH(control_characters_are_replaced_and_long_names_are_cut, setup, teardown)
{
	char line[2 * JIT_NAME_MAX];

	read_map("1000 1 \x1b[31mred\tname\r\n");
	assert_string_equal(jit_names_find(&names, 0x1000), "?[31mred?name?");
	memset(line, 'x', sizeof(line));
	memcpy(line, "2000 1 ", 7);
	strcpy(line + sizeof(line) - 2, "\n");
	read_map(line);
	assert_int_equal(strlen(jit_names_find(&names, 0x2000)), JIT_NAME_MAX);
}

TEST_WITH(memory_has_a_limit, setup, teardown)
{
	bool moved;

	for (int i = 0; i < 1000; i++) {
		char line[64];

		append(line, (size_t)sprintf(line, "%x 10 function_%d\n", 0x1000 + 16 * i, i));
	}
	assert_int_equal(jit_names_read_map(&names, file, 4096, &moved), -EFBIG);
	assert_in_range(jit_names_bytes(&names), 1, 4096);
	assert_string_equal(jit_names_find(&names, 0x1000), "function_0");
}

TEST_WITH(a_line_without_an_end_is_not_read, setup, teardown)
{
	_cleanup_(freep) char *line = malloc(1 << 20);

	memset(line, 'a', 1 << 20);
	line[(1 << 20) - 1] = '\0';
	read_map(line);
	read_map("\n1000 10 behind\n");
	assert_int_equal(names.n, 0);
}

struct load {
	uint32_t id, total_size;
	uint64_t timestamp;
	uint32_t pid, tid;
	uint64_t vma, address, size, index;
	char name[16];
};

static struct load load_of(uint64_t address, const char *name)
{
	struct load r = {.total_size = sizeof(r), .vma = address, .address = address, .size = 16};

	strcpy(r.name, name);
	return r;
}

static void append_header(void)
{
	const uint32_t head[10] = {0x4A695444, 1, sizeof(head), 62};

	append(head, sizeof(head));
}

static int read_dump(bool *ret_moved)
{
	return jit_names_read_dump(&names, file, SIZE_MAX, ret_moved);
}

TEST_WITH(a_dump_has_a_record_for_each_function, setup, teardown)
{
	struct load r = load_of(0x1000, "first");
	bool moved;

	append_header();
	append(&r, sizeof(r));
	r = load_of(0x2000, "second");
	append(&r, sizeof(r) - 1);
	assert_int_equal(read_dump(&moved), 0);
	assert_string_equal(jit_names_find(&names, 0x100f), "first");
	assert_null(jit_names_find(&names, 0x2000));
	append("", 1);
	assert_int_equal(read_dump(&moved), 0);
	assert_false(moved);
	assert_string_equal(jit_names_find(&names, 0x2000), "second");
}

TEST_WITH(a_function_that_moved_has_its_name_at_both_places, setup, teardown)
{
	struct load r = load_of(0x1000, "first");
	struct {
		uint32_t id, total_size;
		uint64_t timestamp;
		uint32_t pid, tid;
		uint64_t vma, old_address, new_address, size, index;
	} move = {.id = 1,
		  .total_size = sizeof(move),
		  .old_address = 0x1000,
		  .new_address = 0x3000,
		  .size = 16};
	bool moved;

	append_header();
	append(&r, sizeof(r));
	append(&move, sizeof(move));
	assert_int_equal(read_dump(&moved), 0);
	assert_string_equal(jit_names_find(&names, 0x1000), "first");
	assert_string_equal(jit_names_find(&names, 0x3000), "first");
}

TEST_WITH(what_is_no_dump_is_refused, setup, teardown)
{
	bool moved;

	assert_int_equal(read_dump(&moved), -EBADMSG);
	append("this is not the header of a dump, but text", 42);
	assert_int_equal(read_dump(&moved), -EBADMSG);
}

TEST_WITH(a_record_that_is_too_short_or_too_long_ends_the_reading, setup, teardown)
{
	struct load r = load_of(0x1000, "first");
	bool moved;

	append_header();
	r.total_size = 3;
	append(&r, sizeof(r));
	assert_int_equal(read_dump(&moved), 0);
	assert_int_equal(names.n, 0);
	r.total_size = UINT32_MAX;
	assert_int_equal(pwrite(file, &r, sizeof(r), 40), sizeof(r));
	assert_int_equal(read_dump(&moved), 0);
	assert_int_equal(names.n, 0);
}
