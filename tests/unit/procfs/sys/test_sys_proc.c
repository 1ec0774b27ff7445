/* SPDX-License-Identifier: Apache-2.0 */
/* The tables of /proc: which text becomes which values, and what is skipped. */
#include "unit/client/read_tracks.h"
#include "unit/procfs/captured_log.h"
#include "unit/procfs/sys_rig.h"
#include "wire/meminfo_names.h"

struct one_file {
	const struct sys_source *source;
	const char *path, *text, *want;
};

static void check_files(const struct one_file *f, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		rig_file(f[i].path, f[i].text);
		rig_poll(f[i].source);
		rig_expect(f[i].want, f[i].text, (int)i);
	}
}

/* ---- meminfo and vmstat ---- */

/* Counters without a number in SysStats are tracks: in bytes where the kernel writes kB. */
FIXTURE_TEST(names_and_numbers_of_memory)
{
	static const struct one_file files[] = {
		{&sys_meminfo, "meminfo",
		 "MemTotal:       8052220 kB\nActive(anon):   12 kB\nCommitted_AS:   34 kB\n"
		 "VmallocTotal:   34359738367 kB\nGpu:     5 kB\nION_heap_pool:  6 kB\n"
		 "HugePages_Total:       0\nDirectMap1G:     1048576 kB\nmemtotal: 9 kB\n",
		 "extra meminfo HugePages_Total 0\nextra meminfo DirectMap1G 1073741824\n"
		 "extra meminfo memtotal 9216\nmeminfo 1 8052220\nmeminfo 9 12\nmeminfo 28 34\n"
		 "meminfo 29 34359738367\nmeminfo 34 5\nmeminfo 38 6\n"},
		{&sys_vmstat, "vmstat",
		 "nr_free_pages 4294967296\nworkingset_restore_file 2\nunspecified 5\nnuma_hit 6\n",
		 "extra vmstat unspecified 5\nextra vmstat numa_hit 6\n"
		 "vmstat 1 4294967296\nvmstat 188 2\n"},
		/* What does not fit into 64 bits is missing; what follows is not. */
		{&sys_vmstat, "vmstat",
		 "pgfault 18446744073709551615\nnew 18446744073709551615\n"
		 "pgmajfault 18446744073709551616\nnr_mlock 7\n",
		 "extra vmstat new 9223372036854775807\n"
		 "vmstat 49 18446744073709551615\nvmstat 8 7\nfailed vmstat\n"},
		/* A text without a last newline was truncated, and so may be its number. */
		{&sys_meminfo, "meminfo", "MemTotal:  100 kB\nMemFree: 12",
		 "meminfo 1 100\nfailed meminfo\n"},
		{&sys_meminfo, "meminfo",
		 "\n:\nMemTotal\nMemFree: much kB\nBuffers: 5 kB\n 3\nCached: 6 kB\n"
		 "MemAvailable: -4 kB\nShmem: 0x10 kB\n",
		 "meminfo 4 5\nmeminfo 5 6\nfailed meminfo\n"},
		{&sys_vmstat, "vmstat", "", "failed vmstat\n"},
	};

	check_files(files, ARRAY_SIZE(files));
}

/* Each poll uses what it knows of the line at a position. */
FIXTURE_TEST(lines_of_vmstat_that_move)
{
	void *s = rig_open(&sys_vmstat);

	rig_file("vmstat", "nr_free_pages 1\npgfault 2\nnr_mlock 3\n");
	rig_passes(&sys_vmstat, s, 1);
	assert_said("vmstat 1 1\nvmstat 49 2\nvmstat 8 3\n");
	/* A new line, a missing one, and a name that begins like another. */
	rig_file("vmstat", "nr_free_pages 4\nnr_free_pages_of 5\npgfault 6\n");
	for (int i = 0; i < 2; i++) {
		rig_passes(&sys_vmstat, s, 1);
		assert_said("extra vmstat nr_free_pages_of 5\nvmstat 1 4\nvmstat 49 6\n");
	}
	rig_close(&sys_vmstat, s);
}

FIXTURE_TEST(only_listed_counters)
{
	static Pb__VmstatCounters listed[] = {49, 4711, -3, 0, 4711, 1};

	rig_file("vmstat", "nr_free_pages 1\npgfault 2\nnr_mlock 3\nnew 4\n");
	stats.vmstat_counters = listed;
	stats.n_vmstat_counters = ARRAY_SIZE(listed);
	assert_poll(&sys_vmstat, "vmstat 1 1\nvmstat 49 2\n");
	/* If none of the listed ones is known, none is recorded. */
	listed[0] = listed[5] = 4711;
	assert_poll(&sys_vmstat, "");
	assert_int_equal(fake.n, 0);
}

/* Counters that only grow keep their last value at their end; the others become 0. */
FIXTURE_TEST(monotonic_counters_are_marked)
{
	struct extra_counters *x = &poll_state.extras;

	rig_file("vmstat", "numa_hit 6\nnr_hugetlb 7\n");
	rig_poll(&sys_vmstat);
	assert_int_equal(x->n, 2);
	tracks_begin(x->tracks, poll_state.begun + 1);
	for (size_t i = 0; i < x->n; i++)
		tracks_remove(x->tracks, x->all[i].track);
	tracks_end(x->tracks);
	read_tracks();
	assert_int_equal(read_last("vmstat/numa_hit"), 6);
	assert_int_equal(read_last("vmstat/nr_hugetlb"), 0);
}

/* A number above the limit, or without a name, would be recorded nowhere, or dropped by a reader. */
TEST(each_number_has_a_place_and_a_name)
{
	const ProtobufCEnumDescriptor *numbers = &pb__meminfo_counters__descriptor,
				      *vmstat = &pb__vmstat_counters__descriptor;

	assert_int_equal(numbers->n_values, ARRAY_SIZE(meminfo_names));
	for (unsigned i = 1; i < numbers->n_values; i++) {
		assert_int_equal(numbers->values[i].value, i);
		assert_non_null(meminfo_names[i]);
	}
	for (unsigned i = 0; i < vmstat->n_values; i++)
		assert_in_range(vmstat->values[i].value, 0, 255);
}

/* ---- stat ---- */

FIXTURE_TEST(counters_of_stat_by_their_number)
{
	static const char *const want[] = {
		"", "cpu 3 10000000 20000000\n", "irqs 9\n", "softirqs 4\n", "forks 7\n", ""};
	static Pb__SysStatsConfig__StatCounters listed[1];

	rig_file("stat", "cpu  1 2\ncpu3 1 2\nintr 9\nctxt 5\nprocesses 7\nsoftirq 4\n");
	stats.stat_counters = listed;
	stats.n_stat_counters = 1;
	for (size_t i = 1; i < ARRAY_SIZE(want); i++) {
		listed[0] = (Pb__SysStatsConfig__StatCounters)i;
		assert_poll(&sys_stat, want[i]);
	}
}

/* Each unknown id is logged once, up to a limit. */
FIXTURE_TEST(unknown_ids_are_logged)
{
	static Pb__SysStatsConfig__StatCounters listed[40] = {99, 4, 99, 99};

	rig_file("stat", "processes 7\n");
	stats.stat_counters = listed;
	stats.n_stat_counters = 4;
	capture_log();
	rig_poll(&sys_stat);
	assert_int_equal(captured("stat: there is no counter with id 99"), 1);
	assert_said("forks 7\n");
	for (int i = 0; i < (int)ARRAY_SIZE(listed); i++)
		listed[i] = (Pb__SysStatsConfig__StatCounters)(1000 + i);
	stats.n_stat_counters = ARRAY_SIZE(listed);
	capture_log();
	rig_poll(&sys_stat);
	assert_int_equal(captured("with id "), UNKNOWN_IDS_MAX);
	assert_non_null(strstr(log_text, "further unknown counter ids"));
}

FIXTURE_TEST(lines_of_stat)
{
	static const struct one_file files[] = {
		/* Columns of guests, of kernels that have them, for CPUs of a valid number. */
		{&sys_stat, "stat",
		 "cpu  1 1 1 1 1 1 1 1 1 1\ncpu0 1 2 3 4 5 6 7 8 9 10\n"
		 "cpu17 1 2 3 4 5 6 7 8 0 0 11\ncpu18 1 2 3 4 5 6 7 8\n"
		 "cpu4294967295 1 1 1 1 1 1 1 1 1 1\n",
		 "extra stat CPU 0 guest 90000000\nextra stat CPU 0 guest_nice 100000000\n"
		 "extra stat CPU 17 guest 0\nextra stat CPU 17 guest_nice 0\n"
		 "cpu 0 10000000 20000000 30000000 40000000 50000000 60000000 70000000 80000000\n"
		 "cpu 17 10000000 20000000 30000000 40000000 50000000 60000000 70000000 80000000\n"
		 "cpu 18 10000000 20000000 30000000 40000000 50000000 60000000 70000000 80000000\n"
		 "cpu 4294967295 10000000 10000000 10000000 10000000 10000000 10000000 10000000 "
		 "10000000\nfailed stat\n"},
		{&sys_stat, "stat",
		 "cpux 1\ncpu\nintr\nintr many\nintr 5 1 x 2\nsoftirq \nprocesses -1\n"
		 "tomorrow 5 6\nprocesses 8\n",
		 "irqs 5\nirq 0 1\nforks 8\nfailed stat\n"},
		{&sys_stat, "stat", "processes 8", "failed stat\n"},
		{&sys_stat, "stat", "processor0 1 2 3\nirqs 7\n", "failed stat\n"},
	};

	if (sysconf(_SC_CLK_TCK) != 100)
		skip();
	check_files(files, ARRAY_SIZE(files));
}

/* It is longer than any buffer at first, and most of it are zeros. */
FIXTURE_TEST(a_line_of_megabytes)
{
	const unsigned n = 900000;
	char *text = malloc(2 * n + 64), *p = text;

	p += sprintf(p, "intr 3");
	for (unsigned i = 0; i < n; i++) {
		memcpy(p, i == 0 || i == 70000 || i == n - 1 ? " 1" : " 0", 2);
		p += 2;
	}
	p += sprintf(p, "\nprocesses 8\n");
	proc_put(text, (size_t)(p - text), "stat");
	free(text);
	assert_poll(&sys_stat, "irqs 3\nirq 0 1\nirq 70000 1\nirq 899999 1\nforks 8\n");
}

/* ---- buddyinfo and diskstats ---- */

#define EXTRA(disk)                                                                                \
	"extra diskstats " disk " read I/Os 1\nextra diskstats " disk " read merges 2\n"           \
	"extra diskstats " disk " write I/Os 5\nextra diskstats " disk " write merges 6\n"         \
	"extra diskstats " disk " in_flight 9\nextra diskstats " disk " io_ticks 10\n"             \
	"extra diskstats " disk " time_in_queue 11\n"
#define DISCARDS(disk)                                                                             \
	"extra diskstats " disk " discard I/Os 12\nextra diskstats " disk " discard merges 13\n"

FIXTURE_TEST(lines_of_zones_and_disks)
{
	static const struct one_file files[] = {
		/* The kernel's configuration sets how many orders there are. */
		{&sys_buddyinfo, "buddyinfo",
		 "Node 0, zone      DMA      1      0      2\n"
		 "Node 12, zone   Normal 99999999999 3\n",
		 "buddy 0 DMA 1 0 2\nbuddy 12 Normal 4294967295 3\n"},
		{&sys_buddyinfo, "buddyinfo",
		 "Zone\nNode 1, zone\nNode 2 zone X 1\nNode , zone X 1\n\nNode 3, zone Y 4\n",
		 "buddy 3 Y 4\nfailed buddyinfo\n"},
		/* Kernels before 4.18, before 5.5, of today, and a later one. */
		{&sys_diskstats, "diskstats",
		 "8 0 sda 1 2 3 4 5 6 7 8 9 10 11\n"
		 "8 1 sdb 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15\n"
		 "8 2 sdc 1 2 18446744073709551615 4 5 6 7 8 9 10 11 12 13 14 15 16 17\n"
		 "259 7 nvme0n1 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19\n",
		 EXTRA("sda") EXTRA("sdb") DISCARDS("sdb") EXTRA("sdc") DISCARDS("sdc")
			 EXTRA("nvme0n1") DISCARDS(
				 "nvme0n1") "disk sda 2=3 3=4 4=7 5=8\n"
					    "disk sdb 2=3 3=4 4=7 5=8 6=14 7=15\n"
					    "disk sdc 2=18446744073709551615 3=4 4=7 5=8 6=14 7=15 "
					    "8=16 9=17\n"
					    "disk nvme0n1 2=3 3=4 4=7 5=8 6=14 7=15 8=16 9=17\n"},
		{&sys_diskstats, "diskstats",
		 "8 0 sda 1 2 3\n8 1\n\n8 2 sdc 1 2 x 4 5 6 7 8 9 10 11\n"
		 "8 3 sdd 1 2 3 4 5 6 7 8 9 10 11\n8 4 sde 1 2 3 4 5 6 7 8 9 10 1",
		 EXTRA("sdd") "disk sdd 2=3 3=4 4=7 5=8\nfailed diskstats\n"},
	};

	check_files(files, ARRAY_SIZE(files));
}

/* The group of a disk has its number, and milliseconds have a multiplier. */
FIXTURE_TEST(groups_and_units_of_disks)
{
	struct pb_field counter;

	rig_file("diskstats", "8 16 sda 1 2 3 4 5 6 7 8 9 10 11\n");
	rig_poll(&sys_diskstats);
	read_tracks();
	assert_true(fake_str_is(read_find("diskstats/sda")->descriptor,
				PB_TRACK_DESCRIPTOR_DESCRIPTION, 0, "8:16"));
	assert_true(read_sub(read_find("diskstats/sda/io_ticks")->descriptor,
			     PB_TRACK_DESCRIPTOR_COUNTER, &counter));
	assert_int_equal(fake_u64(counter, PB_COUNTER_DESCRIPTOR_UNIT_MULTIPLIER), 1000000);
}

/* A disk that is removed has no I/O in flight. In a truncated text it may still exist. */
FIXTURE_TEST(disks_that_appear_and_disappear)
{
	void *s = rig_open(&sys_diskstats);

	rig_file("diskstats", "8 0 sda 1 2 3 4 5 6 7 8 9 10 11\n8 1 sdb 1 2 3 4 5 6 7 8 9 10 11\n");
	rig_passes(&sys_diskstats, s, 1);
	rig_file("diskstats", "8 2 sdc 1 2 3 4 5 6 7 8 9 10 11\n8 1 sdb 1 2 3 4 5 6 7 8");
	rig_passes(&sys_diskstats, s, 1);
	assert_said(EXTRA("sdc") "disk sdc 2=3 3=4 4=7 5=8\nfailed diskstats\n");
	rig_file("diskstats", "8 2 sdc 1 2 3 4 5 6 7 8 9 10 11\n8 1 sdb 1 2 3 4 5 6 7 8 2 10 12\n");
	rig_passes(&sys_diskstats, s, 1);
	assert_true(rig_has("extra diskstats sdb in_flight 2"));
	assert_true(rig_has("extra diskstats sdb time_in_queue 12"));
	assert_true(rig_has("extra diskstats sda in_flight 0"));
	assert_null(strstr(said, "extra diskstats sda io_ticks"));
	rig_passes(&sys_diskstats, s, 1);
	assert_null(strstr(said, "extra diskstats sda"));
	rig_close(&sys_diskstats, s);
}

FIXTURE_TEST(more_disks_than_the_limit)
{
	enum { MAX_DISKS = 2048 };
	size_t len;
	char *text;
	FILE *out = open_memstream(&text, &len);

	for (int i = 0; i <= MAX_DISKS; i++)
		fprintf(out, "7 %d loop%d 1 2 3 4 5 6 7 8 9 10 11\n", i, i);
	fclose(out);
	rig_file("diskstats", text);
	free(text);
	rig_poll(&sys_diskstats);
	assert_true(rig_has("extra diskstats loop2047 in_flight 9"));
	assert_null(strstr(said, "extra diskstats loop2048"));
	assert_non_null(strstr(said, "failed diskstats"));
}

/* ---- pressure ---- */

#define AVG "avg10=0.12 avg60=3.00 avg300=0.00 "

FIXTURE_TEST(pressure_of_each_resource)
{
	rig_file("pressure/cpu", "some " AVG "total=1\nfull " AVG "total=2\n");
	rig_file("pressure/io", "some " AVG "total=3\nfull " AVG "total=4\n");
	rig_file("pressure/memory", "some " AVG "total=5\nfull " AVG "total=6\n");
	/* Linux before 6.1 has none of interrupts, before 5.13 no "full" of CPUs. */
	assert_poll(&sys_psi, "psi 1 1000\npsi 2 2000\npsi 3 3000\npsi 4 4000\npsi 5 5000\n"
			      "psi 6 6000\n");
	rig_file("pressure/irq", "full " AVG "total=7\n");
	rig_file("pressure/cpu", "some " AVG "total=1\n");
	assert_poll(&sys_psi, "extra psi psi.irq.full 7000\npsi 1 1000\npsi 3 3000\npsi 4 4000\n"
			      "psi 5 5000\npsi 6 6000\n");
	/* io and memory have an invalid line each. */
	rig_file("pressure/cpu", "some " AVG "total=5\nhalf total=1\n");
	rig_file("pressure/io", "some " AVG "\nfull total=7\n");
	rig_file("pressure/memory", "some total=-1\nfull total=8\n");
	rig_file("pressure/irq", "some total=3\nfull total=18446744073709551615\n");
	assert_poll(&sys_psi, "extra psi psi.irq.full 9223372036854775807\npsi 1 5000\npsi 4 7000\n"
			      "psi 6 8000\nfailed psi\nfailed psi\n");
	/* Microseconds that exceed 64 bits as nanoseconds; a file without a known line. */
	rig_file("pressure/cpu", "some total=18446744073709551\n");
	rig_file("pressure/io", "some total=18446744073709552\n");
	rig_file("pressure/memory", "half avg10=0.00 total=1\nnone total=2\n");
	rig_file("pressure/irq", "full total=1\n");
	assert_poll(&sys_psi, "extra psi psi.irq.full 1000\npsi 1 18446744073709551000\n"
			      "psi 3 18446744073709551615\nfailed psi\n");
}

/* ---- slab ---- */

#define SLABINFO "slabinfo - version: 2.1\n# name\n"
#define ROW(name, slabs) name " 1 2 3 4 8 : tunables 0 0 0 : slabdata 1 " slabs " 0\n"

static void *open_slab(const char *release)
{
	rig_file("sys/kernel/osrelease", release);
	rig_file("slabinfo", SLABINFO ROW("dentry", "5") ROW("quiet", "0"));
	rig_file("kernel/slab/dentry/slabs", "6 N0=4 N1=2\n");
	rig_file("kernel/slab/quiet/slabs", "0\n");
	return rig_open(&sys_slab);
}

FIXTURE_TEST(slabs_from_the_list_once_then_from_their_files)
{
	void *s = open_slab("6.1.0-9-amd64\n");

	rig_passes(&sys_slab, s, 1);
	assert_said("slab dentry 8 5\nslab quiet 8 0\n");
	/* Empty caches are read once a second. */
	rig_passes(&sys_slab, s, 1);
	assert_said("slab dentry 8 6\nslab quiet 8 0\n");
	rig_passes(&sys_slab, s, 1);
	assert_said("slab dentry 8 6\n");
	rig_close(&sys_slab, s);
	/* Other caches in another order. */
	s = rig_open(&sys_slab);
	rig_passes(&sys_slab, s, 1);
	rig_file("slabinfo", SLABINFO ROW("new", "7") ROW("dentry", "9"));
	rig_file("kernel/slab/new/slabs", "8\n");
	rig_pass_later(&sys_slab, s);
	rig_passes(&sys_slab, s, 1);
	assert_true(rig_has("slab new 8 8") && rig_has("slab dentry 8 6"));
	rig_close(&sys_slab, s);
}

/* An old kernel splits caches by cgroup; one without CONFIG_SLUB_DEBUG lacks the files. */
FIXTURE_TEST(slabs_from_the_list_alone)
{
	void *s = open_slab("5.8.18\n");

	rig_passes(&sys_slab, s, 2);
	assert_said("slab dentry 8 5\nslab quiet 8 0\nslab dentry 8 5\nslab quiet 8 0\n");
	rig_close(&sys_slab, s);
	s = open_slab("6.1.0\n");
	proc_remove("kernel");
	rig_passes(&sys_slab, s, 2); /* the second one finds no file */
	rig_passes(&sys_slab, s, 2);
	assert_said("slab dentry 8 5\nslab quiet 8 0\nslab dentry 8 5\nslab quiet 8 0\n");
	rig_close(&sys_slab, s);
	rig_file("slabinfo", "slabinfo - version: 3.0\n# name\n" ROW("dentry", "5"));
	assert_poll(&sys_slab, "failed slab\n");
	rig_file("slabinfo", SLABINFO "short 1 2\n" ROW("dentry", "99999999999"));
	assert_poll(&sys_slab, "slab dentry 8 4294967295\nfailed slab\n");
}

/* ---- files that are missing or empty ---- */

/* This is one line of the first packet; later polls write nothing. */
FIXTURE_TEST(a_missing_file_makes_one_packet)
{
	static const struct sys_source *const sources[] = {
		&sys_meminfo, &sys_vmstat, &sys_stat, &sys_buddyinfo, &sys_diskstats, &sys_slab};

	for (size_t i = 0; i < ARRAY_SIZE(sources); i++) {
		void *s = rig_open(sources[i]);

		rig_passes(sources[i], s, 1);
		assert_int_equal(rig_lines(), 1);
		assert_non_null(strstr(said, "failed "));
		rig_passes(sources[i], s, 20);
		assert_int_equal(fake.n, 0);
		rig_close(sources[i], s);
	}
	/* With psi=0 on the command line of the kernel, its files cannot be read. */
	assert_poll(&sys_psi, "failed psi\nfailed psi\nfailed psi\n");
}
