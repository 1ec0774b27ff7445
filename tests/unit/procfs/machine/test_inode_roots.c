/* SPDX-License-Identifier: Apache-2.0 */
#include <sys/sysmacros.h>

#include "unit/fixture.h"
#include "procfs/machine/inode_mounts.h"

typedef Pb__InodeFileConfig__MountPointMappingEntry mapping_entry;

static const char mountinfo[] = "1 0 8:1 / / rw - ext4 a rw\n"
				"2 1 8:2 / /my\\040disk rw - ext4 b rw\n"
				"3 1 8:1 /x /other rw - ext4 a rw\n"
				"broken\n";
static Pb__InodeFileConfig config;
static struct inode_roots named, roots;

SETUP
{
	pb__inode_file_config__init(&config);
}

TEARDOWN
{
	inode_roots_deinit(&named);
	inode_roots_deinit(&roots);
}

static void device(unsigned minor_number)
{
	inode_roots_deinit(&roots);
	assert_int_equal(inode_roots_configure(&named, &config), 0);
	assert_int_equal(inode_roots_add_device(&roots, &named, mountinfo, sizeof(mountinfo) - 1,
						makedev(8, minor_number)),
			 0);
	inode_roots_deinit(&named);
}

FIXTURE_TEST(where_a_device_is_mounted)
{
	device(1);
	assert_int_equal(roots.n, 2);
	assert_string_equal(roots.rows[0].path, "/");
	assert_string_equal(roots.rows[1].path, "/other");
	device(2);
	assert_int_equal(roots.n, 1);
	assert_string_equal(roots.rows[0].path, "/my disk");
	device(3);
	assert_int_equal(roots.n, 0);
}

FIXTURE_TEST(directories_mapped_by_the_config)
{
	char *folders[] = {"/etc", "/usr"}, *points[] = {"/other"};
	mapping_entry m = PB__INODE_FILE_CONFIG__MOUNT_POINT_MAPPING_ENTRY__INIT;
	mapping_entry *mappings[] = {&m};

	m.mountpoint = "/";
	m.n_scan_roots = 2;
	m.scan_roots = folders;
	config.n_mount_point_mapping = 1;
	config.mount_point_mapping = mappings;
	device(1);
	assert_int_equal(roots.n, 3);
	assert_string_equal(roots.rows[0].path, "/etc");
	assert_string_equal(roots.rows[1].path, "/usr");
	assert_string_equal(roots.rows[1].mount_point, "/");
	assert_string_equal(roots.rows[2].path, "/other");
	/* Where mount points are named, no other. */
	config.n_scan_mount_points = 1;
	config.scan_mount_points = points;
	device(1);
	assert_int_equal(roots.n, 1);
	assert_string_equal(roots.rows[0].path, "/other");
	device(2);
	assert_int_equal(roots.n, 0);
}

FIXTURE_TEST(no_more_than_there_is_room_for)
{
	char text[100 * 40], *points[100];
	size_t n = 0;

	for (unsigned i = 0; i < 100; i++)
		n += (size_t)snprintf(text + n, sizeof(text) - n, "1 0 8:1 / /m%u rw - x x rw\n",
				      i);
	assert_int_equal(inode_roots_add_device(&roots, &named, text, n, makedev(8, 1)), 0);
	assert_int_equal(roots.n, INODE_ROOTS_MAX);
	for (unsigned i = 0; i < 100; i++)
		points[i] = i == 0 ? "relative" : "/m";
	config.n_scan_mount_points = 100;
	config.scan_mount_points = points;
	assert_int_equal(inode_roots_configure(&named, &config), 0);
	assert_int_equal(named.n, INODE_ROOTS_MAX);
	assert_string_equal(named.rows[0].path, "/m");
}
