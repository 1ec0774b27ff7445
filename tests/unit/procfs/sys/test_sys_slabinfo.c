/* SPDX-License-Identifier: Apache-2.0 */
#include "unit/procfs/sys_rig.h"

/* Slab caches: the list, the files of each, and kernels without them. */

#define HEADER "slabinfo - version: 2.1\n# name\n"
#define ROW(name, slabs) name " 1 2 3 4 8 : tunables 0 0 0 : slabdata 1 " slabs " 0\n"

static void put_machine(const char *release)
{
	rig_file("sys/kernel/osrelease", release);
	rig_file("slabinfo", HEADER ROW("dentry", "5") ROW("quiet", "0"));
	rig_file("kernel/slab/dentry/slabs", "6 N0=4 N1=2\n");
	rig_file("kernel/slab/quiet/slabs", "0\n");
}

FIXTURE_TEST(the_list_once_then_the_files)
{
	void *s;

	put_machine("6.1.0-9-amd64\n");
	s = rig_open(&sys_slab);
	rig_passes(&sys_slab, s, 1);
	assert_true(rig_has("slab dentry 8 5") && rig_has("slab quiet 8 0"));
	/* The first of the file polls looks at the empty ones too; */
	rig_passes(&sys_slab, s, 1);
	assert_true(rig_has("slab dentry 8 6") && rig_has("slab quiet 8 0"));
	/* the next one, within the second, does not. */
	rig_passes(&sys_slab, s, 1);
	assert_true(rig_has("slab dentry 8 6"));
	assert_int_equal(rig_lines(), 1);
	rig_close(&sys_slab, s);
}

FIXTURE_TEST(an_old_kernel_has_slabinfo_only)
{
	void *s;

	put_machine("5.8.18\n");
	s = rig_open(&sys_slab);
	rig_passes(&sys_slab, s, 3);
	assert_true(rig_has("slab dentry 8 5"));
	assert_int_equal(rig_lines(), 6);
	assert_null(strstr(said, "dentry 8 6"));
	rig_close(&sys_slab, s);
}

/* Such as one without CONFIG_SLUB_DEBUG. */
FIXTURE_TEST(without_the_files_slabinfo_serves)
{
	void *s;

	put_machine("6.1.0\n");
	proc_remove("kernel");
	s = rig_open(&sys_slab);
	rig_passes(&sys_slab, s, 1);
	rig_passes(&sys_slab, s, 1); /* finds out */
	rig_passes(&sys_slab, s, 2);
	assert_int_equal(rig_lines(), 4);
	assert_null(strstr(said, "failed"));
	rig_close(&sys_slab, s);
}

FIXTURE_TEST(caches_appear_and_disappear)
{
	void *s;

	put_machine("6.1.0\n");
	s = rig_open(&sys_slab);
	rig_passes(&sys_slab, s, 1);
	rig_file("slabinfo", HEADER ROW("new", "7") ROW("dentry", "9"));
	rig_file("kernel/slab/new/slabs", "8\n");
	s = (rig_close(&sys_slab, s), rig_open(&sys_slab));
	rig_passes(&sys_slab, s, 1);
	assert_true(rig_has("slab new 8 7") && rig_has("slab dentry 8 9"));
	rig_passes(&sys_slab, s, 1);
	assert_true(rig_has("slab new 8 8") && rig_has("slab dentry 8 6"));
	assert_int_equal(rig_lines(), 2);
	rig_close(&sys_slab, s);
}

FIXTURE_TEST(of_another_format)
{
	rig_file("slabinfo", "slabinfo - version: 3.0\n# name\n" ROW("dentry", "5"));
	rig_poll(&sys_slab);
	assert_int_equal(rig_lines(), 1);
	assert_non_null(strstr(said, "failed slab "));
	rig_file("slabinfo", HEADER "short 1 2\n" ROW("dentry", "99999999999"));
	rig_poll(&sys_slab);
	assert_true(rig_has("slab dentry 8 4294967295"));
	assert_int_equal(rig_lines(), 2);
}
