/* SPDX-License-Identifier: Apache-2.0 */
#include <sys/sysmacros.h>

#include "unit/fixture.h"
#include "base/text/str.h"
#include "unit/procfs/fake_producer.h"
#include "procfs/machine/inode_mounts.h"

#define FIELD 2

static struct pb_mem mem;

SETUP
{
	assert_int_equal(pb_mem_init(&mem), 0);
}

TEARDOWN
{
	pb_mem_deinit(&mem);
}

static unsigned encode(const char *text, dev_t device)
{
	pb_mem_reset(&mem);
	inode_mounts_encode(&mem.enc, FIELD, text, strlen(text), device);
	return fake_count(mem.buf, pb_mem_len(&mem), FIELD);
}

static bool is(unsigned nth, const char *name)
{
	struct pb_field m = {.data = mem.buf, .len = pb_mem_len(&mem)};

	return fake_str_is(m, FIELD, nth, name);
}

static const char table[] =
	"22 1 254:0 / / rw,relatime shared:1 - ext4 /dev/vda rw\n"
	"23 22 0:5 / /dev rw,nosuid - devtmpfs devtmpfs rw\n"
	"30 22 254:0 /srv/data /mnt/my\\040data rw - ext4 /dev/vda rw\n"
	"31 22 1048:70000 / /mnt/back\\134slash\\011and\\012line rw - xfs /dev/sdz rw\n"
	"32 22 254:1 / /home rw - ext4 /dev/vda1 rw";

FIXTURE_TEST(the_device_of_a_mount)
{
	dev_t device = 0;

	assert_true(inode_mounts_device(table, sizeof(table) - 1, 31, &device));
	assert_int_equal(device, makedev(1048, 70000));
	assert_true(inode_mounts_device(table, sizeof(table) - 1, 32, &device));
	assert_int_equal(device, makedev(254, 1));
	/* What is no number of a mount, or of none that is there. */
	assert_false(inode_mounts_device(table, sizeof(table) - 1, 1, &device));
	assert_false(
		inode_mounts_device("x 1 2:3 / / rw\n7 1 2:x / / rw\n7\n7 1\n", 37, 7, &device));
	assert_false(inode_mounts_device(NULL, 0, 7, &device));
	assert_int_equal(device, makedev(254, 1));
}

FIXTURE_TEST(mount_points_of_a_device)
{
	assert_int_equal(encode(table, makedev(254, 0)), 2);
	assert_true(is(0, "/") && is(1, "/mnt/my data"));
	assert_int_equal(encode(table, makedev(1048, 70000)), 1);
	assert_true(is(0, "/mnt/back\\slash\tand\nline"));
	/* The last line has no newline. */
	assert_int_equal(encode(table, makedev(254, 1)), 1);
	assert_true(is(0, "/home"));
	assert_int_equal(encode(table, makedev(254, 2)), 0);
}

FIXTURE_TEST(other_shapes)
{
	static const char *const texts[] = {"",
					    "\n\n",
					    "1",
					    "1 2",
					    "1 2 254:0",
					    "1 2 254:0 /",
					    "1 2 254 / /x",
					    "1 2 :0 / /x",
					    "1 2 254: / /x",
					    "1 2 -254:0 / /x",
					    "a b c d e f g"};

	for (size_t i = 0; i < ARRAY_SIZE(texts); i++)
		assert_int_equal(encode(texts[i], makedev(254, 0)), 0);
	/* What looks like an escape and is none. */
	assert_int_equal(encode("1 2 254:0 / /\\04\\999\\777\\", makedev(254, 0)), 1);
	assert_true(is(0, "/\\04\\999\\777\\"));
}

FIXTURE_TEST(no_more_than_a_limit)
{
	struct strbuf text = {0};

	for (unsigned i = 0; i < 1000; i++)
		strbuf_printf(&text, "%u 1 254:0 / /mnt/%u rw - ext4 /dev/vda rw\n", i, i);
	assert_int_equal(encode(text.s, makedev(254, 0)), INODE_MOUNTS_MAX);
	strbuf_deinit(&text);
}
