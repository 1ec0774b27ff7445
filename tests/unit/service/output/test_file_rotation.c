/* SPDX-License-Identifier: Apache-2.0 */

#include "service/output/file_rotation.h"
#include "unit/service/output_dir.h"
#include "unit/service/rig.h"
#include "unit/service/trace_file_helper.h"
#include "unit/temp_dir.h"
#include "unit/test.h"

static struct file_rotation rotation_of(void *const *state, const char *name, const char *fields)
{
	struct file_rotation r;
	Pb__TraceConfig *c;
	char text[512];

	snprintf(text, sizeof(text), "output_path: '%s' rotate { %s }",
		 temp_dir_path(state, 3, name), fields);
	c = peer_parse_config(text);
	assert_int_equal(file_rotation_init(&r, c, 0), 0);
	pb__trace_config__free_unpacked(c, NULL);
	return r;
}

static void open_next(struct file_rotation *r)
{
	struct err_text e;
	int fd;

	assert_int_equal(file_rotation_create_next(r, &e, &fd), 0);
	close(fd);
}

static bool is_there(void *const *state, const char *name)
{
	return access(temp_dir_path(state, 0, name), F_OK) == 0;
}

#define DIR_TEST(name) TEST_WITH(name, temp_dir_setup, temp_dir_teardown)

DIR_TEST(numbers_stand_before_the_extension)
{
	static const char *const names[][2] = {
		{"trace.pftrace", "trace.000001.pftrace"},
		{"a.b.c", "a.b.000001.c"},
		{"trace", "trace.000001"},
		{".hidden", ".hidden.000001"},
	};
	struct stat st;

	for (size_t i = 0; i < 4; i++) {
		struct file_rotation r = rotation_of(state, names[i][0], "period_ms: 1000");

		open_next(&r);
		assert_int_equal(stat(temp_dir_path(state, 0, names[i][1]), &st), 0);
		assert_int_equal(st.st_mode & 0777, 0600);
		assert_false(is_there(state, names[i][0]));
		file_rotation_remove_newest(&r);
		assert_false(is_there(state, names[i][1]));
		file_rotation_deinit(&r);
	}
}

DIR_TEST(oldest_goes_when_there_are_too_many)
{
	struct file_rotation r = rotation_of(state, "t.x", "period_ms: 1000 keep: 2");

	open_next(&r);
	open_next(&r);
	assert_true(is_there(state, "t.000001.x"));
	open_next(&r);
	assert_false(is_there(state, "t.000001.x"));
	/* one that was removed meanwhile counts as well */
	assert_int_equal(unlink(temp_dir_path(state, 0, "t.000002.x")), 0);
	open_next(&r);
	assert_true(is_there(state, "t.000003.x"));
	open_next(&r);
	assert_false(is_there(state, "t.000003.x"));
	assert_true(is_there(state, "t.000004.x") && is_there(state, "t.000005.x"));
	assert_int_equal(r.last, 5);
	file_rotation_deinit(&r);
}

DIR_TEST(files_that_are_there_are_passed_over)
{
	struct file_rotation r = rotation_of(state, "t.x", "period_ms: 1000 keep: 1");

	close(open(temp_dir_path(state, 0, "t.000001.x"), O_WRONLY | O_CREAT, 0600));
	close(open(temp_dir_path(state, 0, "t.000003.x"), O_WRONLY | O_CREAT, 0600));
	open_next(&r);
	assert_int_equal(r.last, 2);
	open_next(&r);
	assert_int_equal(r.last, 4);
	/* they are not removed */
	assert_true(is_there(state, "t.000001.x") && is_there(state, "t.000003.x"));
	assert_false(is_there(state, "t.000002.x"));
	file_rotation_deinit(&r);
}

TEST_GROUP(output_dir_start, output_dir_end)
