// SPDX-License-Identifier: Apache-2.0
/* Texts of 6.12 and 7.2. */

#include "unit/test.h"
#include "ftrace/session/boot_trace_source.c"

TEST(test_which_boot)
{
	assert_int_equal(last_boot_of(NULL), LAST_BOOT_UNKNOWN);
	assert_int_equal(last_boot_of("# Current\n"), LAST_BOOT_CURRENT);
	assert_int_equal(last_boot_of("0\t[kernel]\n"), LAST_BOOT_NONE);
	assert_int_equal(last_boot_of("ffffffff81000000\t[kernel]\nffffffffc0400000\tvirtio_blk\n"),
			 LAST_BOOT_THERE);
	assert_int_equal(last_boot_of("text delta:\t0\ndata delta:\t0\n"), LAST_BOOT_THERE);
	assert_int_equal(last_boot_of("Offset: 1000000\n"), LAST_BOOT_THERE);
	assert_int_equal(last_boot_of(""), LAST_BOOT_THERE);
}

static void assert_gone(const char *info, const char *modules, const char *want)
{
	struct strbuf b = {0};

	last_boot_gone_modules(info, modules, &b);
	assert_string_equal(b.s ? b.s : "", want);
	strbuf_deinit(&b);
}

TEST(test_modules_that_are_gone)
{
	static const char info[] =
		"ffffffff81000000\t[kernel]\nffffffffc0400000\tvirtio_blk\nffffffffc0500000\txfs\n";

	assert_gone(info, "", "virtio_blk, xfs");
	assert_gone(info, "xfs 1 2 - Live 0x0\nvirtio_blk 24576 0 - Live 0x0\n", "");
	assert_gone(info, "virtio_blk_old 24576 0\nblk 1 0\nxfs 1 0\n", "virtio_blk");
	assert_gone(info, "virtio_blk", "virtio_blk, xfs");
	assert_gone("text delta:\t0\ndata delta:\t0\n", "", "");
	assert_gone("", "", "");
	assert_gone("ffffffffc0400000\tvirtio_blk", "\n\n", "virtio_blk");
}
