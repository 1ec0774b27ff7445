/* SPDX-License-Identifier: Apache-2.0 */

#include "service/output/output_dir.h"
#include "unit/temp_dir.h"
#include "unit/test.h"

#define OTHER 12345u /* neither root nor whoever runs this */

static int open_top(void *const *state)
{
	int fd = open(*state, O_PATH | O_DIRECTORY | O_CLOEXEC);

	assert_true(fd >= 0);
	return fd;
}

static int create(void *const *state, const char *name, uid_t user, struct err_text *e)
{
	int fd, top = open_top(state), r = output_dir_create(top, name, user, e, &fd);

	if (r == 0)
		close(fd);
	close(top);
	return r;
}

static void drop(void *const *state, const char *name, uid_t user, const struct output_file *file)
{
	int top = open_top(state);

	output_dir_remove(top, name, user, file);
	close(top);
}

static uid_t owner_of(const char *path)
{
	struct stat st;

	assert_int_equal(stat(path, &st), 0);
	return st.st_uid;
}

static void make_dir(void *const *state, const char *name, mode_t mode)
{
	const char *path = temp_dir_path(state, 0, name);

	assert_int_equal(mkdir(path, 0700), 0);
	assert_int_equal(chmod(path, mode), 0);
}

#define DIR_TEST(name) TEST_WITH(name, temp_dir_setup, temp_dir_teardown)

DIR_TEST(it_belongs_to_the_user_who_asks)
{
	struct err_text e;

	if (geteuid() != 0) {
		assert_int_equal(create(state, "theirs", OTHER, &e), -EPERM);
		assert_non_null(strstr(e.text, "no CAP_CHOWN"));
		assert_int_equal(access(temp_dir_path(state, 0, "theirs"), F_OK), -1);
		return;
	}
	assert_int_equal(create(state, "theirs", OTHER, &e), 0);
	assert_int_equal(owner_of(temp_dir_path(state, 0, "theirs")), OTHER);
}

DIR_TEST(nothing_is_overwritten_or_followed)
{
	struct err_text e;

	make_dir(state, "below", 0755);
	assert_int_equal(create(state, "there", geteuid(), &e), 0);
	assert_int_equal(create(state, "there", geteuid(), &e), -EEXIST);
	assert_int_equal(symlink("nowhere", temp_dir_path(state, 0, "link")), 0);
	assert_int_equal(create(state, "link", geteuid(), &e), -EEXIST);
	assert_int_equal(access(temp_dir_path(state, 0, "nowhere"), F_OK), -1);
	assert_int_equal(create(state, "no/directory", geteuid(), &e), -ENOENT);
	assert_non_null(strstr(e.text, "No such file"));
	assert_int_equal(create(state, "there/file", geteuid(), &e), -ENOTDIR);
	assert_int_equal(symlink("below", temp_dir_path(state, 0, "aside")), 0);
	assert_int_equal(create(state, "aside/file", geteuid(), &e), -ENOTDIR);
	assert_int_equal(create(state, "below/file", geteuid(), &e), 0);
}

DIR_TEST(no_path_leads_out_of_the_dir)
{
	static const char *const paths[] = {
		"",	    "/",	"..",	".",	  "../out",  "below/../../out",
		"/tmp/out", "below//b", "./in", "below/", "below/.", "below/..",
	};
	struct err_text e;

	make_dir(state, "below", 0755);
	for (size_t i = 0; i < ARRAY_SIZE(paths); i++)
		assert_int_equal(create(state, paths[i], geteuid(), &e), -EINVAL);
}

DIR_TEST(others_get_files_below_where_they_may_write_themselves)
{
	struct err_text e;

	if (geteuid() != 0)
		skip();
	make_dir(state, "ours", 0755);
	make_dir(state, "everybodys", 01777);
	assert_int_equal(create(state, "ours/x", OTHER, &e), -EACCES);
	assert_non_null(strstr(e.text, "neither owned by user 12345 nor writable by all"));
	assert_int_equal(create(state, "everybodys/x", OTHER, &e), 0);
	assert_int_equal(create(state, "ours/x", 0, &e), 0);
}

DIR_TEST(their_own_dir_is_one_of_these)
{
	struct err_text e;

	if (geteuid() != 0)
		skip();
	make_dir(state, "theirs", 0755);
	assert_int_equal(chown(temp_dir_path(state, 0, "theirs"), OTHER, OTHER), 0);
	assert_int_equal(create(state, "theirs/x", OTHER, &e), 0);
	assert_int_equal(create(state, "theirs/y", OTHER + 1, &e), -EACCES);
	assert_int_equal(chmod(temp_dir_path(state, 0, "theirs"), 0555), 0);
	assert_int_equal(create(state, "theirs/z", OTHER, &e), -EACCES);
}

static struct output_file file_at(const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	struct output_file file = output_file_of(fd);

	assert_true(fd >= 0);
	close(fd);
	return file;
}

DIR_TEST(what_was_made_is_removed_with_the_same_check)
{
	struct output_file file;
	struct err_text e;
	const char *path;

	make_dir(state, "ours", 0755);
	assert_int_equal(create(state, "ours/x", geteuid(), &e), 0);
	path = temp_dir_path(state, 0, "ours/x");
	file = file_at(path);
	drop(state, "ours/x", OTHER, &file);
	assert_int_equal(access(path, F_OK), 0);
	drop(state, "ours/x", geteuid(), &file);
	assert_int_equal(access(path, F_OK), -1);
	drop(state, "ours/x", geteuid(), &file);
	drop(state, "no/directory", geteuid(), &file);
}

/* A link in place of the directory leads to a file of the same name. */
DIR_TEST(another_file_in_its_place_stays)
{
	struct output_file file;
	struct err_text e;

	make_dir(state, "ours", 0755);
	make_dir(state, "others", 0755);
	assert_int_equal(create(state, "ours/x", geteuid(), &e), 0);
	assert_int_equal(create(state, "others/x", geteuid(), &e), 0);
	file = file_at(temp_dir_path(state, 0, "ours/x"));
	assert_int_equal(rename(temp_dir_path(state, 0, "ours"), temp_dir_path(state, 1, "away")),
			 0);
	assert_int_equal(symlink("others", temp_dir_path(state, 0, "ours")), 0);
	drop(state, "ours/x", geteuid(), &file);
	assert_int_equal(access(temp_dir_path(state, 0, "others/x"), F_OK), 0);
	assert_int_equal(access(temp_dir_path(state, 0, "away/x"), F_OK), 0);
}
