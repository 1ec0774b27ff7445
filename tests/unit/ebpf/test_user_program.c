/* SPDX-License-Identifier: Apache-2.0 */

#include "base/system/fs.h"
#include "ebpf/user_program.h"
#include "unit/fixture.h"

static char root[64], folder[96];
static struct err_text why;

static const char *in(const char *name)
{
	static char path[2][256];
	static int turn;

	turn = !turn;
	snprintf(path[turn], sizeof(path[turn]), "%s/%s", root, name);
	return path[turn];
}

static void make_file(const char *name, const char *text)
{
	FILE *f = fopen(in(name), "w");

	assert_non_null(f);
	fputs(text, f);
	fclose(f);
	assert_int_equal(chmod(in(name), 0644), 0);
}

SETUP
{
	if (getuid())
		skip(); /* the files have to be root's */
	snprintf(root, sizeof(root), "/tmp/test_user_program.XXXXXX");
	assert_non_null(mkdtemp(root));
	snprintf(folder, sizeof(folder), "%s/d", root);
	assert_int_equal(mkdir(folder, 0755), 0);
	make_file("d/a.bpf.o", "bytes");
	make_file("outside.bpf.o", "others");
}

static int remove_name(void *ctx, const char *name, unsigned char type)
{
	char path[512];

	snprintf(path, sizeof(path), "%s/%s", (const char *)ctx, name);
	return remove(path) < 0 ? -1 : 0;
}

TEARDOWN
{
	assert_int_equal(fs_each(folder, remove_name, folder) || rmdir(folder) ||
				 fs_each(root, remove_name, root) || rmdir(root),
			 0);
}

/* Why the program is refused; "" if its bytes were read. */
static const char *read_it(const char *name)
{
	struct user_program *p;

	why.text[0] = '\0';
	if (!user_program_new(folder, name, &p, &why)) {
		const struct ebpf_image *image = &user_program_family(p)->variants->image;

		assert_int_equal(image->end - image->begin, 5);
		assert_memory_equal(image->begin, "bytes", 5);
		user_program_free(p);
	}
	return why.text;
}

#define assert_refused(name, words) assert_non_null(strstr(read_it(name), words))

FIXTURE_TEST(a_good_file_and_a_link_in_the_folder)
{
	assert_string_equal(read_it("a"), "");
	assert_int_equal(symlink("a.bpf.o", in("d/b.bpf.o")), 0);
	assert_string_equal(read_it("b"), "");
}

FIXTURE_TEST(names_that_lead_elsewhere)
{
	assert_refused("../outside", "and no path");
	assert_refused("/etc/passwd", "and no path");
	assert_refused("", "and no path");
	assert_refused("..", "and no path");
	assert_refused("aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa", "1 to 48");
	assert_refused("none", "No such file");
	assert_int_equal(symlink("../outside.bpf.o", in("d/out.bpf.o")), 0);
	assert_refused("out", "a link to a target outside of");
	assert_int_equal(symlink(in("outside.bpf.o"), in("d/far.bpf.o")), 0);
	assert_refused("far", "a link to a target outside of");
}

FIXTURE_TEST(files_of_others)
{
	assert_int_equal(chown(in("d/a.bpf.o"), 1, 1), 0);
	assert_refused("a", "is owned by user");
	assert_int_equal(chown(in("d/a.bpf.o"), 0, 0), 0);
	assert_int_equal(chmod(in("d/a.bpf.o"), 0664), 0);
	assert_refused("a", "a.bpf.o is writable by others");
	assert_int_equal(chmod(in("d/a.bpf.o"), 0646), 0);
	assert_refused("a", "a.bpf.o is writable by others");
	assert_int_equal(mkdir(in("d/folder.bpf.o"), 0755), 0);
	assert_refused("folder", "is not a file");
	assert_int_equal(mkfifo(in("d/fifo.bpf.o"), 0644), 0); /* it is not opened for long */
	assert_refused("fifo", "is not a file");
}

FIXTURE_TEST(a_folder_of_others)
{
	assert_int_equal(chmod(folder, 0775), 0);
	assert_refused("a", "d is writable by others");
	assert_int_equal(chmod(folder, 0777), 0);
	assert_refused("a", "d is writable by others");
}

FIXTURE_TEST(a_file_that_is_too_long)
{
	assert_int_equal(truncate(in("d/a.bpf.o"), 1 << 30), 0);
	assert_refused("a", "File too large");
}
