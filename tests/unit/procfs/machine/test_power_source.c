/* SPDX-License-Identifier: Apache-2.0 */
#include <malloc.h>

#include <event2/event.h>

#include "procfs/data_sources.h"
#include "unit/fixture.h"
#include "unit/procfs/fake_proc.h"
#include "unit/procfs/fake_producer.h"

static const struct data_source *const source = &sysfs_power_data_source;
static struct ds_env env;
static void *instance;

SETUP
{
	fake_reset();
	proc_new();
	env = (struct ds_env){
		.loop = event_base_new(), .proc_root = proc_root, .sys_root = proc_root};
	assert_true(env.loop);
}

TEARDOWN
{
	if (instance)
		source->destroy(instance);
	instance = NULL;
	assert_false(fake.live);
	event_base_free(env.loop);
	fake_reset();
	proc_remove_all();
}

static void put(const char *supply, const char *file, const char *content)
{
	proc_put(content, strlen(content), "class/power_supply/%s/%s", supply, file);
}

static void put_battery(const char *supply, const char *microvolts)
{
	put(supply, "type", "Battery\n");
	put(supply, "present", "1\n");
	put(supply, "voltage_now", microvolts);
}

static void start(void)
{
	Pb__DataSourceConfig config = PB__DATA_SOURCE_CONFIG__INIT;
	uint32_t left = clock_ms_to_tick(1000);

	/* Well before the next tick, so that none fires meanwhile. */
	if (left < 600)
		usleep(left * 1000 + 1000);
	assert_int_equal(source->create(NULL, &env, &config, &instance), 0);
	assert_int_equal(fake.n, 0);
	source->start(instance);
	assert_int_equal(fake.started, 1);
	/* Further slices are due at once; the next tick is due within a second. */
	event_base_loop(env.loop, EVLOOP_NONBLOCK);
}

static void next_tick(void)
{
	event_base_loop(env.loop, EVLOOP_ONCE);
	event_base_loop(env.loop, EVLOOP_NONBLOCK);
}

static struct pb_field battery(size_t i)
{
	struct pb_field f = fake_packet_field(i), m;

	assert_true(fake_field(f.data, f.len, PB_TRACE_PACKET_BATTERY, 0, &m));
	return m;
}

static void assert_battery(size_t i, const char *name, int64_t microvolts)
{
	struct pb_field m = battery(i);

	assert_int_equal(fake_u64(m, PB_BATTERY_COUNTERS_VOLTAGE_UV), microvolts);
	if (name)
		assert_true(fake_str_is(m, PB_BATTERY_COUNTERS_NAME, 0, name));
	else
		assert_false(fake_has(m, PB_BATTERY_COUNTERS_NAME));
}

/* The packet of that name ("" for the one without), of those from the first on. */
static struct pb_field battery_named(size_t first, const char *name)
{
	for (size_t i = first; i < fake.n; i++) {
		struct pb_field m = battery(i);

		if (*name ? fake_str_is(m, PB_BATTERY_COUNTERS_NAME, 0, name)
			  : !fake_has(m, PB_BATTERY_COUNTERS_NAME))
			return m;
	}
	fail_msg("no packet of battery '%s'", name);
	return (struct pb_field){0};
}

FIXTURE_TEST(a_laptop)
{
	uint64_t before = clock_boot_ns();

	put_battery("BAT0", "11700000\n");
	put("BAT0", "current_now", "-1500000\n");
	put("AC", "type", "Mains\n");
	put("AC", "online", "1\n");
	put("AC", "voltage_now", "20000000\n");
	start();
	assert_int_equal(fake.n, 1);
	assert_battery(0, NULL, 11700000);
	assert_true((int64_t)fake_u64(battery(0), PB_BATTERY_COUNTERS_CURRENT_UA) == -1500000);
	assert_in_range(fake_u64(fake_packet_field(0), PB_TRACE_PACKET_TIMESTAMP), before,
			clock_boot_ns());
	put("BAT0", "voltage_now", "11600000\n");
	next_tick();
	assert_int_equal(fake.n, 2);
	assert_battery(1, NULL, 11600000);
	source->flush(instance, 3);
	assert_int_equal(fake.last_flush_id, 3);
	assert_int_equal(fake.flushes, 1);
	source->stop(instance);
	assert_int_equal(fake.stopped, 1);
	/* No timer is left. */
	event_base_dispatch(env.loop);
	assert_int_equal(fake.n, 2);
}

FIXTURE_TEST(batteries_appear_and_disappear)
{
	put_battery("BAT0", "1\n");
	start();
	assert_battery(0, NULL, 1);
	put_battery("mouse", "2\n");
	next_tick();
	assert_int_equal(fake.n, 3);
	/* The tracks of the first one continue. */
	assert_int_equal(fake_u64(battery_named(1, ""), PB_BATTERY_COUNTERS_VOLTAGE_UV), 1);
	assert_int_equal(fake_u64(battery_named(1, "mouse"), PB_BATTERY_COUNTERS_VOLTAGE_UV), 2);
	proc_remove("class/power_supply/BAT0");
	next_tick();
	assert_int_equal(fake.n, 4);
	assert_battery(3, "mouse", 2);
	put_battery("BAT0", "4\n");
	proc_remove("class/power_supply/mouse");
	next_tick();
	assert_int_equal(fake.n, 5);
	assert_battery(4, NULL, 4);
	source->stop(instance);
}

static float percent_of(struct pb_field m)
{
	uint32_t bits = (uint32_t)fake_u64(m, PB_BATTERY_COUNTERS_CAPACITY_PERCENT);
	float percent;

	memcpy(&percent, &bits, sizeof(percent));
	return percent;
}

FIXTURE_TEST(a_value_from_each_file)
{
	static const struct {
		const char *file, *content;
		uint32_t field;
		int64_t want;
	} rows[] = {
		{"charge_now", "2710000\n", PB_BATTERY_COUNTERS_CHARGE_COUNTER_UAH, 2710000},
		{"current_now", "-1234567\n", PB_BATTERY_COUNTERS_CURRENT_UA, -1234567},
		{"current_avg", "-1000001", PB_BATTERY_COUNTERS_CURRENT_AVG_UA, -1000001},
		{"energy_now", "50000000000\n", PB_BATTERY_COUNTERS_ENERGY_COUNTER_UWH,
		 50000000000},
		{"voltage_now", "11999000\n", PB_BATTERY_COUNTERS_VOLTAGE_UV, 11999000},
		{"power_now", "0\n", PB_BATTERY_COUNTERS_POWER_UW, 0},
	};

	put("BAT0", "type", "Battery\n");
	put("BAT0", "capacity", "87\n");
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		put("BAT0", rows[i].file, rows[i].content);
	start();
	assert_int_equal(fake.n, 1);
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		assert_true((int64_t)fake_u64(battery(0), rows[i].field) == rows[i].want);
	assert_true(percent_of(battery(0)) == 87.0f);
	/* The charge has another name in some drivers. */
	proc_remove("class/power_supply/BAT0/charge_now");
	put("BAT0", "charge_counter", "-77\n");
	next_tick();
	assert_true((int64_t)fake_u64(battery(1), PB_BATTERY_COUNTERS_CHARGE_COUNTER_UAH) == -77);
	source->stop(instance);
}

FIXTURE_TEST(which_supplies_are_batteries)
{
	static const struct {
		const char *type, *present;
		bool want;
	} rows[] = {
		{"Battery\n", "1\n", true}, {"Battery\n", "0\n", false}, {"Battery\n", NULL, true},
		{"Battery", "x", true},	    {"UPS\n", "1\n", true},	 {"Mains\n", "1\n", false},
		{"USB\n", NULL, false},	    {"BatteryX\n", NULL, false}, {"\n", NULL, false},
		{"", NULL, false},
	};
	char name[16];
	size_t n = 0;

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		snprintf(name, sizeof(name), "s%zu", i);
		put(name, "type", rows[i].type);
		if (rows[i].present)
			put(name, "present", rows[i].present);
		put(name, "voltage_now", "1\n");
		n += rows[i].want;
	}
	proc_put("", 0, "class/power_supply/file");
	start();
	assert_int_equal(fake.n, n);
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		snprintf(name, sizeof(name), "s%zu", i);
		if (rows[i].want)
			(void)battery_named(0, name);
	}
	source->stop(instance);
}

FIXTURE_TEST(values_of_another_format_are_missing)
{
	static const char *const texts[] = {
		"", "\n", "-", "x", "12x\n", "99999999999999999999\n", "0x12\n", "1.5\n"};

	put_battery("BAT0", "1\n");
	start();
	for (size_t i = 0; i < ARRAY_SIZE(texts); i++) {
		put("BAT0", "current_now", texts[i]);
		source->start(instance); /* begins a pass at once */
		event_base_loop(env.loop, EVLOOP_NONBLOCK);
		assert_battery(fake.n - 1, NULL, 1);
		assert_false(fake_has(battery(fake.n - 1), PB_BATTERY_COUNTERS_CURRENT_UA));
	}
	proc_remove("class/power_supply/BAT0/current_now");
	proc_put("", 0, "class/power_supply/BAT0/current_now/directory");
	put("BAT0", "energy_now", "9\n");
	source->start(instance);
	event_base_loop(env.loop, EVLOOP_NONBLOCK);
	assert_false(fake_has(battery(fake.n - 1), PB_BATTERY_COUNTERS_CURRENT_UA));
	assert_int_equal(fake_u64(battery(fake.n - 1), PB_BATTERY_COUNTERS_ENERGY_COUNTER_UWH), 9);
	source->stop(instance);
}

FIXTURE_TEST(without_a_value_there_is_no_packet)
{
	start();
	/* No such directory; then a battery without a value: no packet. */
	assert_int_equal(fake.n, 0);
	put("BAT0", "type", "Battery\n");
	next_tick();
	assert_int_equal(fake.n, 0);
	put_battery("BAT0", "1\n");
	next_tick();
	assert_int_equal(fake.n, 1);
	source->stop(instance);
}

FIXTURE_TEST(more_batteries_than_the_limit)
{
	for (unsigned i = 0; i < 70; i++) {
		char name[16];

		snprintf(name, sizeof(name), "BAT%u", i);
		put_battery(name, "1\n");
	}
	start();
	for (unsigned i = 0; i < 1000 && fake.n < 64; i++)
		event_base_loop(env.loop, EVLOOP_NONBLOCK);
	assert_int_equal(fake.n, 64);
	source->stop(instance);
}

/* Ten hours, with a battery that is removed and inserted again, and other devices. */
FIXTURE_TEST(memory_does_not_grow_with_the_passes)
{
	size_t used = 0, packets = 0;

	put_battery("BAT0", "11700000\n");
	put("BAT0", "current_now", "gone\n"); /* logged once, counted each time */
	start();
	for (unsigned i = 0; i < 36000; i++) {
		char name[32];

		if (i % 100 == 0) {
			snprintf(name, sizeof(name), "usb%u", i / 100);
			put(name, "type", "USB\n");
		} else if (i % 100 == 50) {
			proc_remove("class/power_supply");
		} else if (i % 100 == 70) {
			put_battery("BAT0", "11700000\n");
		}
		fake_reset_packets();
		/* Starting begins a pass at once. */
		source->start(instance);
		event_base_loop(env.loop, EVLOOP_NONBLOCK);
		packets += fake.n;
		if (i == 1900)
			used = mallinfo2().uordblks;
	}
	/* The second's own tick may come in between. */
	assert_in_range(packets, 36000 / 100 * 80, 36000 / 100 * 80 + 100);
	assert_true(mallinfo2().uordblks <= used + 4096);
}
