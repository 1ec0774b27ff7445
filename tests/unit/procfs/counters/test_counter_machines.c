/* SPDX-License-Identifier: Apache-2.0 */
#include "procfs/data_sources.h"
#include "unit/procfs/counter_rig.h"
#include "unit/procfs/machine_lines.h"

/*
 * Control groups, network and batteries of whole machines, every number: this one, where groups of
 * version 2 stand beside version 1; a server of 128 CPUs with bonds, containers and counters of 64
 * bits; a phone's board; a laptop with Linux 4.19.
 */

static char root[2][128];
static char *all;
static size_t all_len;
static FILE *out;

static void put_counters(void)
{
	read_tracks();
	machine_put_values(out);
}

static void put_battery(struct pb_field m)
{
	static const struct {
		uint32_t field;
		const char *file;
	} fields[] = {
		{PB_BATTERY_COUNTERS_CHARGE_COUNTER_UAH, "charge_now"},
		{PB_BATTERY_COUNTERS_CURRENT_UA, "current_now"},
		{PB_BATTERY_COUNTERS_CURRENT_AVG_UA, "current_avg"},
		{PB_BATTERY_COUNTERS_ENERGY_COUNTER_UWH, "energy_now"},
		{PB_BATTERY_COUNTERS_VOLTAGE_UV, "voltage_now"},
		{PB_BATTERY_COUNTERS_POWER_UW, "power_now"},
	};

	struct pb_field f, name;
	float percent;

	if (!read_sub(m, PB_BATTERY_COUNTERS_NAME, &name))
		name = (struct pb_field){.data = (const uint8_t *)"-", .len = 1};
	for (size_t k = 0; k < ARRAY_SIZE(fields); k++)
		if (read_sub(m, fields[k].field, &f))
			fprintf(out, "battery %.*s/%s %" PRId64 "\n", (int)name.len,
				(const char *)name.data, fields[k].file, (int64_t)f.u64);
	if (!read_sub(m, PB_BATTERY_COUNTERS_CAPACITY_PERCENT, &f))
		return;
	memcpy(&percent, &(uint32_t){(uint32_t)f.u64}, sizeof(percent));
	fprintf(out, "battery %.*s/capacity %g\n", (int)name.len, (const char *)name.data,
		(double)percent);
}

static void put_batteries(void)
{
	struct pb_field m;

	for (size_t i = 0; i < fake.n; i++) {
		assert_true(read_sub(fake_packet_field(i), PB_TRACE_PACKET_BATTERY, &m));
		put_battery(m);
	}
}

/* One pass of the source over the machine, with every number that it finds. */
static void record(const struct data_source *s, void (*put_values)(void))
{
	char *every[] = {(char[]){"*"}};
	Pb__CgroupStatsConfig cgroups = PB__CGROUP_STATS_CONFIG__INIT;
	Pb__NetworkStatsConfig network = PB__NETWORK_STATS_CONFIG__INIT;

	rig_setup(s);
	env.proc_root = root[0];
	env.sys_root = root[1];
	cgroups.counters = network.counters = every;
	cgroups.n_counters = network.n_counters = 1;
	config.cgroup_stats_config = &cgroups;
	config.network_stats_config = &network;
	assert_int_equal(source->create(NULL, &env, &config, &instance), 0);
	source->start(instance);
	/* The next tick may be due before the pass ends. It must not begin another one. */
	while (put_values == put_counters
		       ? rig_poll()->in_pass
		       : event_base_get_num_events(env.loop, EVENT_BASE_COUNT_ADDED) > 1)
		event_base_loop(env.loop, EVLOOP_ONCE);
	put_values();
	rig_teardown();
}

static void check(const char *machine, size_t at_least)
{
	snprintf(root[0], sizeof(root[0]), MACHINES "%s/proc", machine);
	snprintf(root[1], sizeof(root[1]), MACHINES "%s/sys", machine);
	out = open_memstream(&all, &all_len);
	record(&cgroup_stats_data_source, put_counters);
	record(&network_stats_data_source, put_counters);
	record(&sysfs_power_data_source, put_batteries);
	fclose(out);
	machine_check(all, machine, "expected.counters", "\n", at_least);
	free(all);
}

TEST(this_machine)
{
	check("vm", 300);
}

TEST(a_server_with_128_cpus)
{
	check("server", 1000);
}

TEST(a_board)
{
	check("board", 200);
}

TEST(linux_4_19)
{
	check("old", 200);
}
