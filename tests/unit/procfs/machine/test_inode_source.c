/* SPDX-License-Identifier: Apache-2.0 */
#include <event2/event.h>
#include <sys/sysmacros.h>

#include "unit/test.h"
#include "client/producer/metadata_bus.h"
#include "unit/procfs/fake_proc.h"
#include "unit/procfs/fake_producer.h"
#include "procfs/data_sources.h"

typedef Pb__InodeFileConfig__MountPointMappingEntry mapping_entry;

static const struct data_source *const source = &inode_file_map_data_source;
static Pb__InodeFileConfig inodes;
static Pb__DataSourceConfig config;
static struct ds_env env;
static void *instance;
static char files[128]; /* the folder that is scanned */
/* Mount points of the config: that folder, or one that is not there. */
static char *points[] = {files}, *others[] = {(char *)"/nowhere"};
static mapping_entry mapping, *mappings[] = {&mapping};
static uint64_t device;

static int setup(void **state)
{
	char text[256];
	struct stat st;
	int n;

	fake_reset();
	proc_new();
	proc_put("x", 1, "files/a/b");
	proc_put("x", 1, "files/c");
	snprintf(files, sizeof(files), "%s/files", proc_root);
	if (stat(files, &st) < 0)
		return -1;
	device = st.st_dev;
	n = snprintf(text, sizeof(text), "1 0 %u:%u / /mnt/it rw - tmpfs none rw\n",
		     major(st.st_dev), minor(st.st_dev));
	proc_put(text, (size_t)n, "self/mountinfo");
	pb__inode_file_config__init(&inodes);
	inodes.scan_delay_ms = inodes.scan_interval_ms = 1;
	inodes.has_scan_delay_ms = inodes.has_scan_interval_ms = true;
	pb__data_source_config__init(&config);
	config.inode_file_config = &inodes;
	env = (struct ds_env){
		.loop = event_base_new(),
		.bus = metadata_bus_new(),
		.proc_root = proc_root,
	};
	return env.loop && env.bus ? 0 : -1;
}

static int teardown(void **state)
{
	if (instance)
		source->destroy(instance);
	instance = NULL;
	assert_false(fake.live);
	metadata_bus_free(env.bus);
	event_base_free(env.loop);
	fake_reset();
	proc_remove_all();
	return 0;
}

static void start(void)
{
	assert_int_equal(source->create(NULL, &env, &config, &instance), 0);
	source->start(instance);
	assert_int_equal(fake.started, 1);
	assert_int_equal(fake.n, 0);
}

/* The instance is gone, and so are its packets and answers. */
static void end_instance(void)
{
	source->destroy(instance);
	instance = NULL;
	fake_reset_packets();
	fake.started = fake.stopped = 0;
}

static void scan(char **mount_points)
{
	inodes.n_scan_mount_points = 1;
	inodes.scan_mount_points = mount_points;
}

/* Until nothing is left to do; then flush and stop. */
static void run(void)
{
	start();
	event_base_dispatch(env.loop);
	source->flush(instance, 4);
	assert_int_equal(fake.last_flush_id, 4);
	source->stop(instance);
	assert_int_equal(fake.stopped, 1);
}

static struct pb_field map_of(size_t i)
{
	struct pb_field f = fake_packet_field(i), m;

	assert_true(fake_field(f.data, f.len, PB_TRACE_PACKET_INODE_FILE_MAP, 0, &m));
	assert_true(fake_has(f, PB_TRACE_PACKET_TIMESTAMP));
	return m;
}

static unsigned entries_of(size_t i)
{
	struct pb_field m = map_of(i);

	return fake_count(m.data, m.len, PB_INODE_FILE_MAP_ENTRIES);
}

static unsigned all_entries(void)
{
	unsigned n = 0;

	for (size_t i = 0; i < fake.n; i++)
		n += entries_of(i);
	return n;
}

/* The entry of that path below the folder, in any packet. */
static bool find(const char *path, struct pb_field *ret)
{
	char whole[256];

	snprintf(whole, sizeof(whole), "%s%s", files, path);
	for (size_t i = 0; i < fake.n; i++) {
		struct pb_field m = map_of(i);

		for (unsigned k = 0; fake_field(m.data, m.len, PB_INODE_FILE_MAP_ENTRIES, k, ret);
		     k++)
			if (fake_str_is(*ret, PB_INODE_FILE_MAP_ENTRY_PATHS, 0, whole))
				return true;
	}
	return false;
}

#define FIXTURE_TEST(name) TEST_WITH(name, setup, teardown)

FIXTURE_TEST(the_files_of_a_mount_point)
{
	char path[256];
	struct pb_field entry;
	struct stat st;

	scan(points);
	run();
	assert_int_equal(all_entries(), 4);
	assert_true(fake_u64(map_of(0), PB_INODE_FILE_MAP_BLOCK_DEVICE_ID) == device);
	assert_true(fake_str_is(map_of(0), PB_INODE_FILE_MAP_MOUNT_POINTS, 0, "/mnt/it"));
	snprintf(path, sizeof(path), "%s/a/b", files);
	assert_int_equal(stat(path, &st), 0);
	assert_true(find("/a/b", &entry));
	assert_true(fake_u64(entry, PB_INODE_FILE_MAP_ENTRY_INODE_NUMBER) == st.st_ino);
	assert_int_equal(fake_u64(entry, PB_INODE_FILE_MAP_ENTRY_TYPE), 1);
	assert_true(find("/a", &entry));
	assert_int_equal(fake_u64(entry, PB_INODE_FILE_MAP_ENTRY_TYPE), 2);
	assert_true(find("", &entry) && find("/c", &entry));
}

FIXTURE_TEST(in_batches)
{
	uint64_t began = clock_mono_ns();

	scan(points);
	inodes.has_scan_batch_size = true;
	inodes.scan_batch_size = 1;
	inodes.scan_interval_ms = 20;
	inodes.scan_delay_ms = 30;
	run();
	assert_int_equal(fake.n, 4);
	for (unsigned i = 0; i < 4; i++)
		assert_int_equal(entries_of(i), 1);
	/* A delay, and an interval between one and the next. */
	assert_true(clock_mono_ns() - began >= (30 + 3 * 20) * NS_PER_MS);
}

FIXTURE_TEST(folders_in_the_place_of_a_mount_point)
{
	static char sub[160], outside[] = "/proc", *roots[] = {sub, outside, (char *)"relative"};
	struct pb_field entry;

	snprintf(sub, sizeof(sub), "%s/a", files);
	pb__inode_file_config__mount_point_mapping_entry__init(&mapping);
	mapping.mountpoint = files;
	mapping.n_scan_roots = 3;
	mapping.scan_roots = roots;
	inodes.n_mount_point_mapping = 1;
	inodes.mount_point_mapping = mappings;
	/* Alone, and for a mount point that is named: the folders on its device. */
	for (unsigned i = 0; i < 2; i++) {
		inodes.n_scan_mount_points = i;
		inodes.scan_mount_points = points;
		run();
		assert_int_equal(all_entries(), 2);
		assert_true(find("/a", &entry) && find("/a/b", &entry));
		end_instance();
	}
	/* Only those that are named. */
	scan(others);
	run();
	assert_int_equal(fake.n, 0);
}

FIXTURE_TEST(nothing_to_scan)
{
	inodes.has_do_not_scan = inodes.do_not_scan = true;
	scan(points);
	run();
	assert_int_equal(fake.n, 0);
	end_instance();
	inodes.do_not_scan = false;
	inodes.n_scan_mount_points = 0;
	run();
	assert_int_equal(fake.n, 0);
	end_instance();
	config.inode_file_config = NULL;
	run();
	assert_int_equal(fake.n, 0);
}

FIXTURE_TEST(without_mountinfo_and_stopped_early)
{
	proc_remove("self");
	scan(points);
	run();
	assert_int_equal(all_entries(), 4);
	assert_false(fake_has(map_of(0), PB_INODE_FILE_MAP_MOUNT_POINTS));
	end_instance();
	inodes.scan_delay_ms = UINT32_MAX;
	start();
	event_base_loop(env.loop, EVLOOP_NONBLOCK);
	source->stop(instance);
	assert_int_equal(fake.stopped, 1);
	event_base_dispatch(env.loop);
	assert_int_equal(fake.n, 0);
}

/* More files than a turn takes: several packets, each file once. */
FIXTURE_TEST(in_slices)
{
	for (unsigned i = 0; i < 50000; i++)
		proc_put("", 0, "files/many/%u", i);
	scan(points);
	inodes.has_scan_batch_size = true;
	inodes.scan_batch_size = 1000000;
	run();
	assert_int_equal(all_entries(), 50005);
	assert_true(fake.n > 1);
}

/* ---- what events name ---- */

static void mount_there(const char *where)
{
	char text[256];
	int n = snprintf(text, sizeof(text), "1 0 %u:%u / %s rw - tmpfs none rw\n", major(device),
			 minor(device), where);

	proc_put(text, (size_t)n, "self/mountinfo");
}

static void name_file(const char *relative, uint64_t dev)
{
	char path[256];
	struct stat st;

	snprintf(path, sizeof(path), "%s%s", files, relative);
	assert_int_equal(stat(path, &st), 0);
	metadata_bus_publish(
		env.bus, FAKE_SESSION,
		&(struct metadata_batch){.inodes = &(struct metadata_inode){dev, st.st_ino},
					 .n_inodes = 1});
}

static void start_with_events(void)
{
	assert_int_equal(metadata_bus_register(env.bus, FAKE_SESSION, env.bus), 0);
	start();
	assert_int_equal(metadata_bus_wanted(env.bus, FAKE_SESSION), METADATA_INODES);
}

static void stop_with_events(void)
{
	source->stop(instance);
	/* What is told behind that is too late. */
	name_file("/c", device);
	metadata_bus_unregister(env.bus, FAKE_SESSION, env.bus);
	event_base_dispatch(env.loop);
}

FIXTURE_TEST(only_the_files_that_events_name)
{
	struct pb_field entry;

	mount_there(files);
	start_with_events();
	event_base_dispatch(env.loop);
	assert_int_equal(fake.n, 0);
	name_file("/a/b", device);
	name_file("/a/b", device + 1); /* of another device, which is mounted nowhere */
	event_base_dispatch(env.loop);
	assert_int_equal(all_entries(), 1);
	assert_true(find("/a/b", &entry));
	assert_int_equal(fake_u64(entry, PB_INODE_FILE_MAP_ENTRY_TYPE), 1);
	assert_true(fake_str_is(map_of(0), PB_INODE_FILE_MAP_MOUNT_POINTS, 0, files));
	/* In a round of its own; what was told is not told again. */
	name_file("/a", device);
	name_file("/a/b", device);
	event_base_dispatch(env.loop);
	assert_int_equal(all_entries(), 2);
	assert_true(find("/a", &entry));
	stop_with_events();
	assert_int_equal(all_entries(), 2);
}

/* As on btrfs: stat has the number of a volume, events that of the whole file system. */
FIXTURE_TEST(the_device_of_the_mount_and_not_of_the_volume)
{
	const uint64_t whole = makedev(7000, 11);
	char text[256];
	struct pb_field entry;
	struct statx st;
	int n;

	assert_int_equal(statx(AT_FDCWD, files, 0, STATX_MNT_ID, &st), 0);
	if (!(st.stx_mask & STATX_MNT_ID))
		skip();
	n = snprintf(text, sizeof(text),
		     "1 0 7000:12 / /other rw - tmpfs none rw\n"
		     "%llu 0 7000:11 / %s rw - tmpfs none rw\n",
		     (unsigned long long)st.stx_mnt_id, files);
	proc_put(text, (size_t)n, "self/mountinfo");
	start_with_events();
	name_file("/a/b", whole);
	name_file("/c", device);
	event_base_dispatch(env.loop);
	assert_int_equal(all_entries(), 1);
	assert_true(find("/a/b", &entry));
	assert_true(fake_u64(map_of(0), PB_INODE_FILE_MAP_BLOCK_DEVICE_ID) == whole);
	assert_true(fake_str_is(map_of(0), PB_INODE_FILE_MAP_MOUNT_POINTS, 0, files));
	stop_with_events();
	end_instance();
	/* Also where the config names it. */
	scan(points);
	run();
	assert_int_equal(all_entries(), 4);
	assert_true(fake_u64(map_of(0), PB_INODE_FILE_MAP_BLOCK_DEVICE_ID) == whole);
}

/* As far as the config does not say otherwise. */
FIXTURE_TEST(only_in_the_folders_of_the_config)
{
	static char sub[160], *roots[] = {sub};
	struct pb_field entry;

	mount_there(files);
	snprintf(sub, sizeof(sub), "%s/a", files);
	pb__inode_file_config__mount_point_mapping_entry__init(&mapping);
	mapping.mountpoint = files;
	mapping.n_scan_roots = 1;
	mapping.scan_roots = roots;
	inodes.n_mount_point_mapping = 1;
	inodes.mount_point_mapping = mappings;
	inodes.scan_mount_points = others;
	for (unsigned i = 0; i < 2; i++) {
		inodes.n_scan_mount_points = i;
		start_with_events();
		name_file("/c", device);
		name_file("/a/b", device);
		event_base_dispatch(env.loop);
		assert_int_equal(all_entries(), i == 0);
		assert_int_equal(find("/a/b", &entry), i == 0);
		stop_with_events();
		end_instance();
	}
}

/* Without a scan nobody needs to gather. */
FIXTURE_TEST(do_not_scan_records_no_inodes_of_events)
{
	inodes.has_do_not_scan = inodes.do_not_scan = true;
	assert_int_equal(metadata_bus_register(env.bus, FAKE_SESSION, env.bus), 0);
	start();
	assert_int_equal(metadata_bus_wanted(env.bus, FAKE_SESSION), 0);
	stop_with_events();
	assert_int_equal(fake.n, 0);
}
