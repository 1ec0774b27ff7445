/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Makes counters from SysStats. The table `parts` lists the fields of SysStats in the order in
 * which their values become rows, whatever their order in the packet.
 */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/import/import_steps.h"
#include "analyze/import/remembered.h"
#include "analyze/import/tracks.h"
#include "base/core/mem.h"
#include "common/sys_stats_counters.pb-c.h"
#include "gen/fields.h"
#include "wire/meminfo_names.h"

/* A packet whose fields are being read. */
struct sys_packet_rows {
	struct import *im;
	struct machine *m;
	int64_t ts;
	unsigned position; /* fields of the same number before this one */
};

static void sys_stats_rows_add_counter(const struct sys_packet_rows *p,
				       const struct track_type *type, uint32_t name,
				       const int64_t *values, double value)
{
	rows_add_counter(p->im, p->ts, tracks_get(p->im, p->m, type, name, values), value,
			 NULL_U32);
}

static uint32_t sys_stats_rows_intern(const struct sys_packet_rows *p, const char *s)
{
	return strings_intern_z(&p->im->store->strings, s);
}

/* The first two fields of a message {key, value}; a key may be text. */
struct key_value {
	uint64_t number, value;
	struct pb_field text;
};

static struct key_value read_key_value(const struct pb_field *message)
{
	struct key_value kv = {.number = 0};

	pb_read(message, PB_TO(1, &kv.number), PB_TO(1, &kv.text), PB_TO(2, &kv.value));
	return kv;
}

/* Returns "" for a field without bytes. */
static uint32_t sys_stats_rows_text(const struct sys_packet_rows *p, const struct pb_field *f)
{
	return strings_intern(&p->im->store->strings, f->data, f->len);
}

/* ---- memory ---- */

static const struct track_type meminfo_type = {"meminfo", "bytes", true, {{"meminfo_key", true}}};
static const struct track_type vmstat_type = {"vmstat", NULL, true, {{"vmstat_key", true}}};

static void add_meminfo(const struct sys_packet_rows *p, const struct pb_field *f)
{
	struct key_value kv = read_key_value(f);
	int64_t key;

	if (kv.number >= ARRAY_SIZE(meminfo_names) || !meminfo_names[kv.number]) {
		stats_add(p->im->store, STAT_MEMINFO_UNKNOWN_KEYS, STAT_NO_INDEX, 1);
		return;
	}
	key = sys_stats_rows_intern(p, meminfo_names[kv.number]);
	sys_stats_rows_add_counter(p, &meminfo_type, (uint32_t)key, &key,
				   (double)(int64_t)(kv.value * 1024));
}

/* Adds a value of /proc/vmstat. The counter has the name of the constant in VmstatCounters, in
 * lower case and without VMSTAT_. */
static void add_vmstat(const struct sys_packet_rows *p, const struct pb_field *f)
{
	struct key_value kv = read_key_value(f);
	const ProtobufCEnumValue *v =
		kv.number && kv.number < INT32_MAX
			? protobuf_c_enum_descriptor_get_value(&pb__vmstat_counters__descriptor,
							       (int)kv.number)
			: NULL;
	char name[64] = "";
	int64_t key;

	if (!v) {
		stats_add(p->im->store, STAT_VMSTAT_UNKNOWN_KEYS, STAT_NO_INDEX, 1);
		return;
	}
	for (size_t i = 0; i < sizeof(name) - 1 && v->name[strlen("VMSTAT_") + i]; i++)
		name[i] = (char)tolower((unsigned char)v->name[strlen("VMSTAT_") + i]);
	key = sys_stats_rows_intern(p, name);
	sys_stats_rows_add_counter(p, &vmstat_type, (uint32_t)key, &key, (double)(int64_t)kv.value);
}

static const struct track_type slab_type = {"slabinfo", "bytes", true, {{"slab_name", true}}};

static void add_slab(const struct sys_packet_rows *p, const struct pb_field *message)
{
	struct import *im = p->im;
	struct pb_field name = {0};
	uint32_t pages = 0, slabs = 0;
	int64_t key;
	uint32_t track;

	pb_read(message, PB_TO(PB_SYS_STATS_SLAB_INFO_NAME, &name),
		PB_TO(PB_SYS_STATS_SLAB_INFO_PAGES_PER_SLAB, &pages),
		PB_TO(PB_SYS_STATS_SLAB_INFO_NUM_SLABS, &slabs));
	key = sys_stats_rows_text(p, &name);
	track = tracks_get(im, p->m, &slab_type,
			   strings_intern_f(&im->store->strings, "mem.slab.%.*s",
					    (int)MIN(name.len, (size_t)200),
					    (const char *)name.data),
			   &key);
	arg_builder_add_int(im->store, &im->args, "pages_per_slab", ARG_UINT, pages);
	arg_builder_add_int(im->store, &im->args, "num_slabs", ARG_UINT, slabs);
	rows_add_counter(im, p->ts, track, (double)((uint64_t)pages * slabs * p->m->page_size),
			 arg_sets_add(im->store, &im->args));
}

static const struct track_type buddy_type = {
	"buddyinfo",
	NULL,
	true,
	{{"buddyinfo_node", true}, {"buddyinfo_zone", true}, {"buddyinfo_chunk_size_kb", false}}};

static void add_buddy(const struct sys_packet_rows *p, const struct pb_field *message)
{
	struct strings *strings = &p->im->store->strings;
	struct pb_field node_name = {0}, zone_name = {0};
	uint32_t node, zone;
	unsigned order = 0;
	uint64_t pages;

	pb_read(message, PB_TO(PB_SYS_STATS_BUDDY_INFO_NODE, &node_name),
		PB_TO(PB_SYS_STATS_BUDDY_INFO_ZONE, &zone_name));
	node = sys_stats_rows_text(p, &node_name);
	zone = sys_stats_rows_text(p, &zone_name);
	pb_for_each (f, message) {
		if (f.id != PB_SYS_STATS_BUDDY_INFO_ORDER_PAGES)
			continue;
		for (struct pb_packed v = pb_packed_of(&f);
		     pb_packed_next(&v, &pages) && order < 32; order++) {
			int64_t kb = (int64_t)(((uint64_t)1 << order) * p->m->page_size / 1024);
			int64_t values[] = {node, zone, kb};

			sys_stats_rows_add_counter(
				p, &buddy_type,
				strings_intern_f(strings, "mem.buddyinfo[%s][%s][%lld kB]",
						 strings_get(strings, node),
						 strings_get(strings, zone), (long long)kb),
				values, (double)pages);
		}
	}
}

/* ---- disks: what was done since the last sample ---- */

static const struct track_type disk_mb = {
	"diskstat", "MB", true, {{"device_name", true}, {"counter_name", true}}};
static const struct track_type disk_mb_per_s = {
	"diskstat", "MB/s", true, {{"device_name", true}, {"counter_name", true}}};
static const struct track_type disk_count = {
	"diskstat", "count", true, {{"device_name", true}, {"counter_name", true}}};
static const struct track_type disk_ms = {
	"diskstat", "ms", true, {{"device_name", true}, {"counter_name", true}}};

static void add_disk_counter(const struct sys_packet_rows *p, const struct track_type *type,
			     uint32_t device, const char *what, double value)
{
	struct strings *s = &p->im->store->strings;
	int64_t values[] = {device, strings_intern_z(s, what)};

	sys_stats_rows_add_counter(
		p, type, strings_intern_f(s, "diskstat.[%s].%s", strings_get(s, device), what),
		values, value);
}

/* Returns how much a field of a disk has grown since the last sample, and remembers its value. The
 * result is negative for a new disk of the same name: the kernel counts from 0 for it. */
static int64_t disk_delta(const struct sys_packet_rows *p, uint32_t device, uint32_t field,
			  uint64_t value)
{
	int64_t *last =
		import_remembered(p->im, p->m, REMEMBER_DISK, (uint64_t)device << 8 | field);
	int64_t delta;

	if (!last)
		return 0;
	delta = (int64_t)(value - (uint64_t)*last);
	*last = (int64_t)value;
	return delta;
}

static void add_disk(const struct sys_packet_rows *p, const struct pb_field *message)
{
	static const char *const amounts[] = {"read_amount", "write_amount", "discard_amount"};
	static const char *const rates[] = {"read_throughput", "write_throughput",
					    "discard_throughput"};
	uint64_t values[PB_SYS_STATS_DISK_STAT_FLUSH_TIME_MS + 1] = {0};
	int64_t deltas[ARRAY_SIZE(values)] = {0}, *seen;
	uint32_t device = 0;

	pb_for_each (f, message) {
		if (f.id == PB_SYS_STATS_DISK_STAT_DEVICE_NAME && f.data)
			device = strings_intern(&p->im->store->strings, f.data, f.len);
		else if (f.id < ARRAY_SIZE(values))
			values[f.id] = f.u64;
	}
	seen = import_remembered(p->im, p->m, REMEMBER_DISK_SEEN, device);
	for (uint32_t i = PB_SYS_STATS_DISK_STAT_READ_SECTORS; i < ARRAY_SIZE(values); i++)
		deltas[i] = disk_delta(p, device, i, values[i]);
	if (!seen || !(*seen)++)
		return;
	for (size_t i = 0; i < ARRAY_SIZE(amounts); i++) {
		const int64_t *sectors = &deltas[PB_SYS_STATS_DISK_STAT_READ_SECTORS + 2 * i];
		double mb = (double)sectors[0] / 2048, ms = (double)sectors[1];

		add_disk_counter(p, &disk_mb, device, amounts[i], mb);
		add_disk_counter(p, &disk_mb_per_s, device, rates[i],
				 sectors[1] ? mb * 1000 / ms : 0);
	}
	add_disk_counter(p, &disk_count, device, "flush_amount",
			 (double)deltas[PB_SYS_STATS_DISK_STAT_FLUSH_COUNT]);
	add_disk_counter(p, &disk_ms, device, "flush_time",
			 (double)deltas[PB_SYS_STATS_DISK_STAT_FLUSH_TIME_MS]);
}

/* ---- CPUs, interrupts ---- */

static const struct track_type cpustat_type = {
	"cpustat", NULL, true, {{"cpu", false}, {"cpustat_key", true}}};

static void add_cpu_times(const struct sys_packet_rows *p, const struct pb_field *message)
{
	static const char *const keys[] = {"user_ns",	 "user_nice_ns", "system_mode_ns",
					   "idle_ns",	 "io_wait_ns",	 "irq_ns",
					   "softirq_ns", "steal_ns"};
	uint64_t ns[ARRAY_SIZE(keys)] = {0}, cpu = UINT64_MAX;

	pb_for_each (f, message) {
		if (f.id == PB_SYS_STATS_CPU_TIMES_CPU_ID)
			cpu = f.u64;
		else if (f.id >= PB_SYS_STATS_CPU_TIMES_USER_NS &&
			 f.id <= PB_SYS_STATS_CPU_TIMES_STEAL_NS)
			ns[f.id - PB_SYS_STATS_CPU_TIMES_USER_NS] = f.u64;
	}
	if (cpu >= MAX_CPUS) {
		stats_add(p->im->store, STAT_INVALID_CPU_TIMES, STAT_NO_INDEX, 1);
		return;
	}
	for (size_t i = 0; i < ARRAY_SIZE(keys); i++) {
		int64_t values[] = {(int64_t)cpu, sys_stats_rows_intern(p, keys[i])};

		sys_stats_rows_add_counter(
			p, &cpustat_type,
			strings_intern_f(&p->im->store->strings, "cpu.times.%s", keys[i]), values,
			(double)ns[i]);
	}
}

static const struct track_type num_irq_type = {"num_irq", NULL, true, {{"irq", false}}};
static const struct track_type num_softirq_type = {"num_softirq", NULL, true, {{"irq", false}}};

static void add_interrupts(const struct sys_packet_rows *p, const struct pb_field *f)
{
	const struct track_type *type =
		f->id == PB_SYS_STATS_NUM_IRQ ? &num_irq_type : &num_softirq_type;
	struct key_value kv = read_key_value(f);
	int64_t irq = (int32_t)kv.number;

	sys_stats_rows_add_counter(p, type,
				   strings_intern_f(&p->im->store->strings, "%s (id: %lld)",
						    type->type, (long long)irq),
				   &irq, (double)kv.value);
}

static const struct track_type num_forks_type = {"num_forks", NULL, true, {{NULL, false}}};
static const struct track_type num_irq_total_type = {"num_irq_total", NULL, true, {{NULL, false}}};
static const struct track_type num_softirq_total_type = {
	"num_softirq_total", NULL, true, {{NULL, false}}};

static void add_total_of_machine(const struct sys_packet_rows *p, const struct pb_field *f)
{
	const struct track_type *type = f->id == PB_SYS_STATS_NUM_FORKS ? &num_forks_type
					: f->id == PB_SYS_STATS_NUM_IRQ_TOTAL
						? &num_irq_total_type
						: &num_softirq_total_type;

	sys_stats_rows_add_counter(p, type, sys_stats_rows_intern(p, type->type), NULL,
				   (double)f->u64);
}

static void add_cpufreq(const struct sys_packet_rows *p, const struct pb_field *f)
{
	int64_t cpu = p->position;
	uint64_t khz;

	for (struct pb_packed v = pb_packed_of(f); pb_packed_next(&v, &khz) && cpu < MAX_CPUS;
	     cpu++)
		sys_stats_rows_add_counter(p, &track_cpu_frequency,
					   sys_stats_rows_intern(p, "cpufreq"), &cpu, (double)khz);
}

/* Adds the values, in MHz, to a track whose unit is kHz, as trace_processor does. */
static void add_gpufreq(const struct sys_packet_rows *p, const struct pb_field *f)
{
	int64_t values[] = {counter_rules_ugpu(p->im, p->m, 0), 0};
	uint64_t mhz;

	for (struct pb_packed v = pb_packed_of(f); pb_packed_next(&v, &mhz);)
		sys_stats_rows_add_counter(p, &track_gpu_frequency,
					   sys_stats_rows_intern(p, "gpufreq"), values,
					   (double)mhz);
}

static void add_devfreq(const struct sys_packet_rows *p, const struct pb_field *f)
{
	struct key_value kv = read_key_value(f);
	int64_t key = sys_stats_rows_text(p, &kv.text);

	sys_stats_rows_add_counter(
		p, &track_clock_frequency,
		strings_intern_f(&p->im->store->strings, "%s Frequency",
				 strings_get(&p->im->store->strings, (uint32_t)key)),
		&key, (double)kv.value);
}

/* ---- pressure, heat ---- */

static const struct track_type psi_type = {"psi", NULL, true, {{"psi_resource", true}}};

static void add_psi(const struct sys_packet_rows *p, const struct pb_field *f)
{
	static const char *const names[] = {"psi.resource.unspecified",
					    "psi.cpu.some",
					    "psi.cpu.full",
					    "psi.io.some",
					    "psi.io.full",
					    "psi.mem.some",
					    "psi.mem.full"};
	struct key_value kv = read_key_value(f);
	int64_t key;

	if (kv.number >= ARRAY_SIZE(names)) {
		stats_add(p->im->store, STAT_PSI_UNKNOWN_RESOURCE, STAT_NO_INDEX, 1);
		return;
	}
	key = sys_stats_rows_intern(p, names[kv.number] + strlen("psi."));
	sys_stats_rows_add_counter(p, &psi_type, sys_stats_rows_intern(p, names[kv.number]), &key,
				   (double)kv.value);
}

static const struct track_type thermal_type = {
	"thermal_temperature_sys", "C", true, {{"thermal_zone", true}}};

static void add_thermal(const struct sys_packet_rows *p, const struct pb_field *message)
{
	struct pb_field zone = {0};
	uint64_t temp = 0;
	int64_t key;

	pb_read(message, PB_TO(PB_SYS_STATS_THERMAL_ZONE_TYPE, &zone),
		PB_TO(PB_SYS_STATS_THERMAL_ZONE_TEMP, &temp));
	key = sys_stats_rows_text(p, &zone);
	sys_stats_rows_add_counter(p, &thermal_type, (uint32_t)key, &key, (double)temp);
}

static const struct track_type cpuidle_type = {
	"cpu_idle_state", "us", true, {{"cpu", false}, {"state", true}}};

static void add_cpuidle(const struct sys_packet_rows *p, const struct pb_field *message)
{
	struct strings *strings = &p->im->store->strings;
	uint64_t cpu = 0;

	pb_for_each (f, message) {
		if (f.id == PB_SYS_STATS_CPU_IDLE_STATE_CPU_ID)
			cpu = f.u64;
		if (f.id != PB_SYS_STATS_CPU_IDLE_STATE_CPUIDLE_STATE_ENTRY || !f.data ||
		    cpu >= MAX_CPUS)
			continue;
		struct key_value kv = read_key_value(&f);
		uint32_t state = sys_stats_rows_text(p, &kv.text);
		int64_t values[] = {(int64_t)cpu, state};

		sys_stats_rows_add_counter(p, &cpuidle_type,
					   strings_intern_f(strings, "cpuidle%u.%s", (unsigned)cpu,
							    strings_get(strings, state)),
					   values, (double)kv.value);
	}
}

/* ---- the packet ---- */

static const struct sys_part {
	uint32_t field;
	void (*fn)(const struct sys_packet_rows *p, const struct pb_field *f);
	bool is_number; /* else a message */
} parts[] = {
	{PB_SYS_STATS_MEMINFO, add_meminfo, false},
	{PB_SYS_STATS_DEVFREQ, add_devfreq, false},
	{PB_SYS_STATS_CPUFREQ_KHZ, add_cpufreq, true},
	{PB_SYS_STATS_VMSTAT, add_vmstat, false},
	{PB_SYS_STATS_CPU_STAT, add_cpu_times, false},
	{PB_SYS_STATS_NUM_IRQ, add_interrupts, false},
	{PB_SYS_STATS_NUM_SOFTIRQ, add_interrupts, false},
	{PB_SYS_STATS_NUM_FORKS, add_total_of_machine, true},
	{PB_SYS_STATS_NUM_IRQ_TOTAL, add_total_of_machine, true},
	{PB_SYS_STATS_NUM_SOFTIRQ_TOTAL, add_total_of_machine, true},
	{PB_SYS_STATS_BUDDY_INFO, add_buddy, false},
	{PB_SYS_STATS_DISK_STAT, add_disk, false},
	{PB_SYS_STATS_PSI, add_psi, false},
	{PB_SYS_STATS_THERMAL_ZONE, add_thermal, false},
	{PB_SYS_STATS_CPUIDLE_STATE, add_cpuidle, false},
	{PB_SYS_STATS_GPUFREQ_MHZ, add_gpufreq, true},
	{PB_SYS_STATS_SLAB_INFO, add_slab, false},
};

void import_sys_stats(struct import *im, struct machine *m, int64_t ts,
		      const struct pb_field *stats)
{
	for (size_t i = 0; i < ARRAY_SIZE(parts); i++) {
		struct sys_packet_rows p = {.im = im, .m = m, .ts = ts};

		pb_for_each (f, stats)
			if (f.id == parts[i].field && (parts[i].is_number || f.data)) {
				parts[i].fn(&p, &f);
				p.position++;
			}
	}
}
