/* SPDX-License-Identifier: Apache-2.0 */

#include "unit/test.h"
#include "service/listen_sockets.c"
#include "unit/temp_dir.h"

TEST(four_parts_are_read)
{
	struct socket_permissions p[2];
	struct err_text e;

	assert_int_equal(socket_permissions_parse("root:0666:4294967294:1760", p, &e), 0);
	assert_int_equal(p[SOCKET_OF_PRODUCERS].group, 0);
	assert_int_equal(p[SOCKET_OF_PRODUCERS].mode, 0666);
	assert_true(p[SOCKET_OF_CONSUMERS].group == 4294967294u);
	assert_int_equal(p[SOCKET_OF_CONSUMERS].mode, 01760);
}

TEST(anything_else_is_refused)
{
	static const struct {
		const char *text, *why;
	} bad[] = {
		{"", "must be"},
		{"root", "must be"},
		{"root:0666:root", "must be"},
		{"root:0666::0660", "must be"},
		{"root:0666:root:", "must be"},
		{"root:0666:root:0660:", "must be"},
		{"root:0666:root:0660:x", "must be"},
		{"root:666:root:0660", "\"666\" is not a mode"},
		{"root:0668:root:0660", "not a mode"},
		{"root:00666:root:0660", "not a mode"},
		{"no-such-group:0666:root:0660", "group \"no-such-group\" does not exist"},
		{"root:0666:-1:0660", "does not exist"},
		{"root:0666:4294967296:0660", "does not exist"},
	};
	struct socket_permissions p[2] = {{.group = 7}};
	struct err_text e;

	for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
		assert_true(socket_permissions_parse(bad[i].text, p, &e) < 0);
		assert_non_null(strstr(e.text, bad[i].why));
		assert_int_equal(p[0].group, 7);
	}
}

TEST_WITH(they_are_set_of_a_file, temp_dir_setup, temp_dir_teardown)
{
	struct socket_permissions p = {.group = getegid(), .mode = 0620};
	const char *path = temp_dir_path(state, 0, "socket");
	struct err_text e;
	struct stat st;

	close(open(path, O_CREAT | O_WRONLY, 0600));
	if (geteuid() == 0)
		p.group = 12345;
	assert_int_equal(socket_permissions_set(path, &p, &e), 0);
	assert_int_equal(stat(path, &st), 0);
	assert_int_equal(st.st_gid, p.group);
	assert_int_equal(st.st_mode & 07777, 0620);
	assert_int_equal(st.st_uid, geteuid());
	path = temp_dir_path(state, 0, "none");
	assert_int_equal(socket_permissions_set(path, &p, &e), -ENOENT);
	assert_non_null(strstr(e.text, path));
}
