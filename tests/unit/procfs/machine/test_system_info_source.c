/* SPDX-License-Identifier: Apache-2.0 */
#include <event2/event.h>

#include "base/system/fs.h"
#include "base/text/str.h"
#include "procfs/data_sources.h"
#include "unit/fixture.h"
#include "unit/procfs/captured_log.h"
#include "unit/procfs/fake_proc.h"
#include "unit/procfs/fake_producer.h"

static const struct data_source *const source = &system_info_data_source;
static Pb__SystemInfoConfig info;
static Pb__DataSourceConfig config;
static struct ds_env env;

SETUP
{
	fake_reset();
	proc_new();
	pb__system_info_config__init(&info);
	pb__data_source_config__init(&config);
	config.system_info_config = &info;
	env = (struct ds_env){
		.loop = event_base_new(), .proc_root = proc_root, .sys_root = proc_root};
	assert_true(env.loop);
}

TEARDOWN
{
	fake_reset();
	event_base_free(env.loop);
	proc_remove_all();
}

static void run(void)
{
	void *instance = NULL;

	assert_int_equal(source->create(NULL, &env, &config, &instance), 0);
	assert_int_equal(fake.n, 0);
	source->start(instance);
	/* The start is confirmed at the end. */
	event_base_dispatch(env.loop);
	assert_int_equal(fake.started, 1);
	source->flush(instance, 5);
	assert_int_equal(fake.last_flush_id, 5);
	assert_int_equal(fake.flushes, 1);
	source->stop(instance);
	assert_int_equal(fake.stopped, 1);
	source->destroy(instance);
	assert_false(fake.live);
}

FIXTURE_TEST(one_packet_with_the_processors)
{
	uint64_t before = clock_boot_ns();
	struct pb_field f;

	proc_put("processor : 0\n", 14, "cpuinfo");
	proc_put("1: 0 x-edge name\n", 17, "interrupts");
	run();
	assert_int_equal(fake.n, 1);
	assert_in_range(fake_u64(fake_packet_field(0), PB_TRACE_PACKET_TIMESTAMP), before,
			clock_boot_ns());
	assert_true(fake_field(fake.packets[0].data, fake.packets[0].len, PB_TRACE_PACKET_CPU_INFO,
			       0, &f));
	assert_int_equal(fake_count(f.data, f.len, PB_CPU_INFO_CPUS), 1);
}

static const struct {
	const char *file; /* in tests/data/procfs */
	unsigned rows;
	struct {
		unsigned row;
		uint32_t irq;
		const char *name;
	} want[6];
} interrupts[] = {
	{"interrupts.x86",
	 19,
	 {{0, 24, "ACPI:Ged"},
	  {2, 26, "ttyS0"},
	  {3, 28, "virtio0-config"},
	  {7, 32, "virtio0-reporting_vq"}}},
	{"interrupts.arm64",
	 5,
	 {{0, 11, "arch_timer"},
	  {1, 13, "kvm guest vcpu timer"},
	  {2, 14, "ACPI:Ged, virtio0"},
	  {3, 20, "power key"},
	  {4, 21, ""}}},
	{"interrupts.old",
	 6,
	 {{0, 0, "timer"},
	  {1, 2, "cascade"},
	  {2, 9, "acpi"},
	  {3, 24, "nvme0q0, ahci-edge"},
	  {4, 25, ""},
	  {5, 26, "last without newline"}}},
};

FIXTURE_TEST(names_of_interrupts_on_machines_of_each_kind)
{
	info.has_irq_names = info.irq_names = true;
	for (size_t i = 0; i < ARRAY_SIZE(interrupts); i++) {
		struct pb_field message, row;
		struct strbuf text = {0};
		char path[64];

		snprintf(path, sizeof(path), "tests/data/procfs/%s", interrupts[i].file);
		assert_int_equal(fs_read_file(path, 1 << 20, &text), 0);
		fake_reset();
		proc_put("processor : 0\n", 14, "cpuinfo");
		proc_put(text.s, text.len, "interrupts");
		strbuf_deinit(&text);
		run();
		assert_true(fake_field(fake.packets[1].data, fake.packets[1].len,
				       PB_TRACE_PACKET_INTERRUPT_INFO, 0, &message));
		assert_int_equal(
			fake_count(message.data, message.len, PB_INTERRUPT_INFO_IRQ_MAPPING),
			interrupts[i].rows);
		for (size_t k = 0; k < 6 && interrupts[i].want[k].name; k++) {
			fake_field(message.data, message.len, PB_INTERRUPT_INFO_IRQ_MAPPING,
				   interrupts[i].want[k].row, &row);
			assert_int_equal(fake_u64(row, PB_INTERRUPT_INFO_INTERRUPT_MAPPING_IRQ_ID),
					 interrupts[i].want[k].irq);
			assert_true(fake_str_is(row, PB_INTERRUPT_INFO_INTERRUPT_MAPPING_NAME, 0,
						interrupts[i].want[k].name));
		}
	}
}

FIXTURE_TEST(without_a_config_or_files)
{
	run();
	assert_int_equal(fake.n, 0);
	fake_reset();
	config.system_info_config = NULL;
	proc_put("processor : 0\n", 14, "cpuinfo");
	run();
	assert_int_equal(fake.n, 1);
}

/* Interrupts of a machine with many processors take several slices. */
FIXTURE_TEST(a_machine_that_takes_several_slices)
{
	struct strbuf text = {0};
	void *instance = NULL;
	struct pb_field f;

	info.has_irq_names = info.irq_names = true;
	proc_put("processor : 0\n", 14, "cpuinfo");
	for (unsigned irq = 0; irq < 5000; irq++) {
		strbuf_printf(&text, "%4u:", irq);
		for (unsigned cpu = 0; cpu < 512; cpu++)
			strbuf_puts(&text, "          0");
		strbuf_printf(&text, "  PCI-MSI %u-edge      queue-%u\n", irq, irq);
	}
	proc_put(text.s, text.len, "interrupts");
	strbuf_deinit(&text);
	assert_int_equal(source->create(NULL, &env, &config, &instance), 0);
	source->start(instance);
	assert_int_equal(fake.started, 0);
	event_base_dispatch(env.loop);
	assert_int_equal(fake.started, 1);
	assert_int_equal(fake.n, 2);
	fake_field(fake.packets[1].data, fake.packets[1].len, PB_TRACE_PACKET_INTERRUPT_INFO, 0,
		   &f);
	assert_int_equal(fake_count(f.data, f.len, PB_INTERRUPT_INFO_IRQ_MAPPING), 5000);
	source->stop(instance);
	source->destroy(instance);
	/* A stop in the middle. */
	fake.started = fake.stopped = 0;
	assert_int_equal(source->create(NULL, &env, &config, &instance), 0);
	source->start(instance);
	source->stop(instance);
	event_base_dispatch(env.loop);
	assert_int_equal(fake.stopped, 1);
	assert_int_equal(fake.started, 0);
	source->destroy(instance);
}

/* A directory in the place of a file; an empty one. */
FIXTURE_TEST(files_that_cannot_be_read)
{
	info.has_irq_names = info.irq_names = true;
	proc_put("", 0, "cpuinfo/x");
	proc_put("", 0, "interrupts");
	run();
	assert_int_equal(fake.n, 0);
	fake_reset();
	/* The values of /sys are recorded nevertheless. */
	proc_put("0-1\n", 4, "devices/system/cpu/present");
	run();
	assert_int_equal(fake.n, 1);
}

/* The values of /sys are recorded nevertheless. */
FIXTURE_TEST(files_with_nothing_that_is_known)
{
	static const struct {
		const char *text, *reason;
	} files[] = {
		{"", "the file is empty"},
		{"processors:\nthe first: x86\n\n", "part of the file has an unknown format"},
	};

	info.has_irq_names = info.irq_names = true;
	proc_put("0-1\n", 4, "devices/system/cpu/present");
	for (size_t i = 0; i < ARRAY_SIZE(files); i++) {
		fake_reset();
		proc_put(files[i].text, strlen(files[i].text), "cpuinfo");
		proc_put(files[i].text, strlen(files[i].text), "interrupts");
		capture_log();
		run();
		assert_int_equal(captured(files[i].reason), 2);
		assert_int_equal(fake.n, 1);
	}
	/* A missing file is logged as such, and not again as an empty one. */
	fake_reset();
	proc_remove("cpuinfo");
	capture_log();
	run();
	assert_int_equal(captured("cpuinfo: "), 1);
	assert_non_null(strstr(log_text, strerror(ENOENT)));
}

FIXTURE_TEST(the_real_machine)
{
	struct pb_field f;

	env.proc_root = "/proc";
	env.sys_root = "/sys";
	if (access("/proc/cpuinfo", R_OK) != 0)
		skip();
	run();
	assert_true(fake_field(fake.packets[0].data, fake.packets[0].len, PB_TRACE_PACKET_CPU_INFO,
			       0, &f));
	assert_true(fake_count(f.data, f.len, PB_CPU_INFO_CPUS) <=
		    (unsigned)sysconf(_SC_NPROCESSORS_CONF));
}
