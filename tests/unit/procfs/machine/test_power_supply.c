/* SPDX-License-Identifier: Apache-2.0 */

#include "unit/fixture.h"
#include "unit/procfs/fake_proc.h"
#include "unit/procfs/fake_producer.h"
#include "procfs/machine/power_source.c"

static struct strbuf text;
static struct power_values values;
static char dir[128];

SETUP
{
	proc_new();
	snprintf(dir, sizeof(dir), "%s/bat", proc_root);
	values = (struct power_values){0};
}

TEARDOWN
{
	strbuf_deinit(&text);
	proc_remove_all();
}

static void put(const char *file, const char *content)
{
	proc_put(content, strlen(content), "bat/%s", file);
}

FIXTURE_TEST(a_value_from_each_file)
{
	static const struct {
		const char *file, *content;
		int64_t want;
	} rows[POWER_VALUES] = {
		[POWER_CHARGE] = {"charge_now", "2710000\n", 2710000},
		[POWER_CAPACITY] = {"capacity", "87\n", 87},
		[POWER_CURRENT] = {"current_now", "-1234567\n", -1234567},
		[POWER_CURRENT_AVG] = {"current_avg", "-1000001", -1000001},
		[POWER_ENERGY] = {"energy_now", "50000000000\n", 50000000000},
		[POWER_VOLTAGE] = {"voltage_now", "11999000\n", 11999000},
		[POWER_POWER] = {"power_now", "0\n", 0},
	};

	for (unsigned i = 0; i < POWER_VALUES; i++) {
		assert_int_equal(power_supply_read(dir, i, &text, &values), -ENOENT);
		assert_int_equal(values.has, (1u << i) - 1);
		put(rows[i].file, rows[i].content);
		assert_int_equal(power_supply_read(dir, i, &text, &values), 0);
		assert_true(values.v[i] == rows[i].want);
		assert_string_equal(power_value_file(i), rows[i].file);
	}
}

FIXTURE_TEST(a_charge_by_its_other_name)
{
	put("charge_counter", "-77\n");
	assert_int_equal(power_supply_read(dir, POWER_CHARGE, &text, &values), 0);
	assert_true(values.v[POWER_CHARGE] == -77);
	put("charge_now", "5\n");
	assert_int_equal(power_supply_read(dir, POWER_CHARGE, &text, &values), 0);
	assert_true(values.v[POWER_CHARGE] == 5);
}

FIXTURE_TEST(bad_texts)
{
	static const char *const texts[] = {
		"", "\n", "-", "x", "12x\n", "99999999999999999999\n", "0x12\n", "1.5\n"};

	for (size_t i = 0; i < ARRAY_SIZE(texts); i++) {
		put("current_now", texts[i]);
		assert_int_equal(power_supply_read(dir, POWER_CURRENT, &text, &values), -EBADMSG);
	}
	assert_int_equal(values.has, 0);
	proc_remove("bat/current_now");
	proc_put("", 0, "bat/current_now/file");
	assert_int_equal(power_supply_read(dir, POWER_CURRENT, &text, &values), -EISDIR);
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
	};
	bool is = false;

	assert_int_equal(power_supply_is_battery(dir, &text, &is), -ENOENT);
	put("type", "");
	assert_int_equal(power_supply_is_battery(dir, &text, &is), -EBADMSG);
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		proc_remove("bat/present");
		put("type", rows[i].type);
		if (rows[i].present)
			put("present", rows[i].present);
		assert_int_equal(power_supply_is_battery(dir, &text, &is), 0);
		assert_int_equal(is, rows[i].want);
	}
}

TEST(fields_of_a_message)
{
	struct power_values v = {.has = (1u << POWER_VALUES) - 1};
	struct pb_mem mem;
	struct pb_field m;
	uint32_t bits;
	float percent;

	assert_int_equal(pb_mem_init(&mem), 0);
	for (unsigned i = 0; i < POWER_VALUES; i++)
		v.v[i] = -(int64_t)(10 + i);
	v.v[POWER_CAPACITY] = 87;
	power_values_encode(&mem.enc, &v, "BAT1");
	m = (struct pb_field){.data = mem.buf, .len = pb_mem_len(&mem)};
	assert_true(fake_str_is(m, PB_BATTERY_COUNTERS_NAME, 0, "BAT1"));
	assert_true((int64_t)fake_u64(m, PB_BATTERY_COUNTERS_CHARGE_COUNTER_UAH) == -10);
	assert_true((int64_t)fake_u64(m, PB_BATTERY_COUNTERS_CURRENT_UA) == -12);
	assert_true((int64_t)fake_u64(m, PB_BATTERY_COUNTERS_CURRENT_AVG_UA) == -13);
	assert_true((int64_t)fake_u64(m, PB_BATTERY_COUNTERS_ENERGY_COUNTER_UWH) == -14);
	assert_true((int64_t)fake_u64(m, PB_BATTERY_COUNTERS_VOLTAGE_UV) == -15);
	assert_true((int64_t)fake_u64(m, PB_BATTERY_COUNTERS_POWER_UW) == -16);
	bits = (uint32_t)fake_u64(m, PB_BATTERY_COUNTERS_CAPACITY_PERCENT);
	memcpy(&percent, &bits, sizeof(percent));
	assert_true(percent == 87.0f);
	pb_mem_reset(&mem);
	v.has = 1u << POWER_VOLTAGE;
	power_values_encode(&mem.enc, &v, NULL);
	m = (struct pb_field){.data = mem.buf, .len = pb_mem_len(&mem)};
	assert_true(fake_has(m, PB_BATTERY_COUNTERS_VOLTAGE_UV));
	assert_false(fake_has(m, PB_BATTERY_COUNTERS_NAME));
	assert_false(fake_has(m, PB_BATTERY_COUNTERS_CURRENT_UA));
	pb_mem_deinit(&mem);
}
