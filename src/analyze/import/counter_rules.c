/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Kernel events that are values of counters: of CPUs, clocks, devices, network interfaces. A row of
 * `counters` says which field of an event is the value, and which one names the counter's owner.
 */
#include <string.h>

#include "analyze/import/event_rules.h"
#include "analyze/import/import_steps.h"
#include "analyze/import/remembered.h"
#include "analyze/import/tracks.h"
#include "base/core/mem.h"
#include "gen/fields.h"

#define CPU_COUNTER(name, type)                                                                    \
	static const struct track_type name = {type, NULL, true, {{"cpu", false}}}

CPU_COUNTER(cpu_idle, "cpu_idle");
CPU_COUNTER(max_limit, "cpu_max_frequency_limit");
CPU_COUNTER(min_limit, "cpu_min_frequency_limit");
CPU_COUNTER(throttle, "cpu_frequency_throttle");
CPU_COUNTER(utilization, "cpu_utilization");
CPU_COUNTER(capacity, "cpu_capacity");
CPU_COUNTER(nr_running, "cpu_nr_running");
static const struct track_type clock_state = {"clock_state", NULL, true, {{"linux_device", true}}};
static const struct track_type temperature = {
	"thermal_temperature", NULL, true, {{"thermal_zone", true}}};
static const struct track_type cooling = {
	"cooling_device_counter", NULL, true, {{"linux_device", true}}};
static const struct track_type device_frequency = {
	"linux_device_frequency", NULL, true, {{"linux_device", true}}};
static const struct track_type net_receive = {
	"net_receive", NULL, true, {{"network_interface", true}}};
static const struct track_type net_transmit = {
	"net_transmit", NULL, true, {{"network_interface", true}}};
static const struct track_type kfree_skb = {"net_kfree_skb", NULL, true, {{NULL, false}}};
static const struct track_type gpu_memory = {
	"gpu_memory", "bytes", true, {{"ugpu", false}, {"gpu", false}}};
static const struct track_type process_gpu_memory = {
	"process_gpu_memory", "bytes", true, {{"ugpu", false}, {"gpu", false}, {"upid", false}}};

/* The counter's name is `before`, its owner (a CPU or a name) and `after`: "Cpu " 3 " Util". If
 * `after` is NULL, it is `before` alone. */
static const struct kernel_counter {
	uint32_t event;
	const struct track_type *type;
	const char *before, *after;
	uint32_t owner, value; /* fields of the event */
} counters[] = {
	{PB_FTRACE_EVENT_CPU_FREQUENCY, &track_cpu_frequency, "cpufreq", NULL,
	 PB_CPU_FREQUENCY_FTRACE_EVENT_CPU_ID, PB_CPU_FREQUENCY_FTRACE_EVENT_STATE},
	{PB_FTRACE_EVENT_CPU_IDLE, &cpu_idle, "cpuidle", NULL, PB_CPU_IDLE_FTRACE_EVENT_CPU_ID,
	 PB_CPU_IDLE_FTRACE_EVENT_STATE},
	{PB_FTRACE_EVENT_CPU_FREQUENCY_LIMITS, &max_limit, "Cpu ", " Max Freq Limit",
	 PB_CPU_FREQUENCY_LIMITS_FTRACE_EVENT_CPU_ID,
	 PB_CPU_FREQUENCY_LIMITS_FTRACE_EVENT_MAX_FREQ},
	{PB_FTRACE_EVENT_CPU_FREQUENCY_LIMITS, &min_limit, "Cpu ", " Min Freq Limit",
	 PB_CPU_FREQUENCY_LIMITS_FTRACE_EVENT_CPU_ID,
	 PB_CPU_FREQUENCY_LIMITS_FTRACE_EVENT_MIN_FREQ},
	{PB_FTRACE_EVENT_DCVSH_FREQ, &throttle, "cpufreq_throttle", NULL,
	 PB_DCVSH_FREQ_FTRACE_EVENT_CPU, PB_DCVSH_FREQ_FTRACE_EVENT_FREQ},
	{PB_FTRACE_EVENT_SCHED_CPU_UTIL_CFS, &utilization, "Cpu ", " Util",
	 PB_SCHED_CPU_UTIL_CFS_FTRACE_EVENT_CPU, PB_SCHED_CPU_UTIL_CFS_FTRACE_EVENT_CPU_UTIL},
	{PB_FTRACE_EVENT_SCHED_CPU_UTIL_CFS, &capacity, "Cpu ", " Cap",
	 PB_SCHED_CPU_UTIL_CFS_FTRACE_EVENT_CPU, PB_SCHED_CPU_UTIL_CFS_FTRACE_EVENT_CAPACITY},
	{PB_FTRACE_EVENT_SCHED_CPU_UTIL_CFS, &nr_running, "Cpu ", " Nr Running",
	 PB_SCHED_CPU_UTIL_CFS_FTRACE_EVENT_CPU, PB_SCHED_CPU_UTIL_CFS_FTRACE_EVENT_NR_RUNNING},
	{PB_FTRACE_EVENT_CLOCK_SET_RATE, &track_clock_frequency, "", " Frequency",
	 PB_CLOCK_SET_RATE_FTRACE_EVENT_NAME, PB_CLOCK_SET_RATE_FTRACE_EVENT_STATE},
	{PB_FTRACE_EVENT_CLOCK_ENABLE, &clock_state, "", " State",
	 PB_CLOCK_ENABLE_FTRACE_EVENT_NAME, PB_CLOCK_ENABLE_FTRACE_EVENT_STATE},
	{PB_FTRACE_EVENT_CLOCK_DISABLE, &clock_state, "", " State",
	 PB_CLOCK_DISABLE_FTRACE_EVENT_NAME, PB_CLOCK_DISABLE_FTRACE_EVENT_STATE},
	{PB_FTRACE_EVENT_THERMAL_TEMPERATURE, &temperature, "", " Temperature",
	 PB_THERMAL_TEMPERATURE_FTRACE_EVENT_THERMAL_ZONE,
	 PB_THERMAL_TEMPERATURE_FTRACE_EVENT_TEMP},
	{PB_FTRACE_EVENT_CDEV_UPDATE, &cooling, "", " Cooling Device",
	 PB_CDEV_UPDATE_FTRACE_EVENT_TYPE, PB_CDEV_UPDATE_FTRACE_EVENT_TARGET},
};

static uint32_t counter_name(struct import *im, const struct kernel_counter *c, int64_t owner)
{
	struct strings *s = &im->store->strings;

	if (!c->after)
		return strings_intern_z(s, c->before);
	if (c->type->dimensions[0].is_string)
		return strings_intern_f(s, "%s%s%s", c->before, strings_get(s, (uint32_t)owner),
					c->after);
	return strings_intern_f(s, "%s%u%s", c->before, (unsigned)owner, c->after);
}

static void counter_rules_add_counter(struct import *im, struct machine *m,
				      const struct ftrace_event *e, const struct kernel_counter *c)
{
	bool by_name = c->type->dimensions[0].is_string;
	struct pb_field value, f;
	int64_t owner;

	event_field(e, c->value, &value);
	event_field(e, c->owner, &f);
	owner = by_name ? event_text(im, e, c->owner) : (int64_t)f.u64;
	if (!by_name && f.u64 >= MAX_CPUS)
		return;
	rows_add_counter(im, e->ts, tracks_get(im, m, c->type, counter_name(im, c, owner), &owner),
			 (double)(int64_t)value.u64, NULL_U32);
}

static void add_counters(struct import *im, struct machine *m, const struct ftrace_event *e)
{
	for (size_t i = 0; i < ARRAY_SIZE(counters); i++)
		if (counters[i].event == e->number)
			counter_rules_add_counter(im, m, e, &counters[i]);
}

/* Adds a value to the device's counter. The counters of the devices "17000010.devfreq_mif" and
 * "mif" are both named "devfreq_mif". */
static void handle_devfreq_frequency(struct import *im, struct machine *m,
				     const struct ftrace_event *e)
{
	struct strings *s = &im->store->strings;
	uint32_t device = event_text(im, e, PB_DEVFREQ_FREQUENCY_FTRACE_EVENT_DEV_NAME);
	const char *text = strings_get(s, device), *part = strstr(text, "devfreq_");
	uint32_t name = part ? strings_intern_z(s, part) : strings_intern_f(s, "devfreq_%s", text);
	int64_t owner = device;
	struct pb_field f;

	event_field(e, PB_DEVFREQ_FREQUENCY_FTRACE_EVENT_FREQ, &f);
	rows_add_counter(im, e->ts, tracks_get(im, m, &device_frequency, name, &owner),
			 (double)(int64_t)f.u64, NULL_U32);
}

/* ---- networks ---- */

static void add_net_bytes(struct import *im, struct machine *m, const struct ftrace_event *e,
			  const struct track_type *type, const char *what, uint32_t device,
			  uint64_t len)
{
	struct strings *s = &im->store->strings;
	int64_t owner = device, kib, *sum;
	uint32_t track = tracks_get(
		im, m, type, strings_intern_f(s, "%s %s KB", strings_get(s, device), what), &owner);

	sum = import_remembered(im, m, REMEMBER_NET_BYTES, track);
	if (!sum)
		return;
	*sum += (int64_t)(uint32_t)len;
	kib = *sum / 1024;
	arg_builder_add_int(im->store, &im->args, "cpu", ARG_UINT, e->cpu);
	arg_builder_add_int(im->store, &im->args, "len", ARG_UINT, (int64_t)(uint32_t)len);
	rows_add_counter(im, e->ts, track, (double)kib, arg_sets_add(im->store, &im->args));
}

static void add_received_bytes(struct import *im, struct machine *m, const struct ftrace_event *e)
{
	struct pb_field f;

	event_field(e, PB_NETIF_RECEIVE_SKB_FTRACE_EVENT_LEN, &f);
	add_net_bytes(im, m, e, &net_receive, "Received",
		      event_text(im, e, PB_NETIF_RECEIVE_SKB_FTRACE_EVENT_NAME), f.u64);
}

static void add_transmitted_bytes(struct import *im, struct machine *m,
				  const struct ftrace_event *e)
{
	struct pb_field f;

	event_field(e, PB_NET_DEV_XMIT_FTRACE_EVENT_RC, &f);
	if (f.u64) /* an error: the packet was not sent */
		return;
	event_field(e, PB_NET_DEV_XMIT_FTRACE_EVENT_LEN, &f);
	add_net_bytes(im, m, e, &net_transmit, "Transmitted",
		      event_text(im, e, PB_NET_DEV_XMIT_FTRACE_EVENT_NAME), f.u64);
}

static void count_dropped_packet(struct import *im, struct machine *m, const struct ftrace_event *e)
{
	uint32_t key = strings_intern_z(&im->store->strings, "protocol"), track;
	const char *protocol;
	struct pb_field f;
	int64_t *n;

	event_field(e, PB_KFREE_SKB_FTRACE_EVENT_PROTOCOL, &f);
	protocol = f.u64 == 0x0800 ? "IP" : f.u64 == 0x86dd ? "IPV6" : NULL;
	if (!protocol)
		return;
	track = tracks_get(im, m, &kfree_skb,
			   strings_intern_z(&im->store->strings, "Kfree Skb IP Prot"), NULL);
	n = import_remembered(im, m, REMEMBER_DROPPED_PACKETS, track);
	if (!n)
		return;
	arg_builder_add(
		im->store, &im->args,
		&(struct stored_arg){.key = key,
				     .flat_key = key,
				     .type = ARG_STRING,
				     .value = strings_intern_z(&im->store->strings, protocol)});
	rows_add_counter(im, e->ts, track, (double)++*n, arg_sets_add(im->store, &im->args));
}

/* ---- GPUs ---- */

int64_t counter_rules_ugpu(struct import *im, const struct machine *m, uint32_t gpu)
{
	int64_t *number = import_remembered(im, m, REMEMBER_GPU, gpu);

	if (!number)
		return 0;
	if (!*number)
		*number = import_remembered_count(im, REMEMBER_GPU);
	return *number - 1;
}

static void handle_gpu_frequency(struct import *im, struct machine *m, const struct ftrace_event *e)
{
	struct pb_field gpu, f;
	int64_t values[2];

	event_field(e, PB_GPU_FREQUENCY_FTRACE_EVENT_GPU_ID, &gpu);
	event_field(e, PB_GPU_FREQUENCY_FTRACE_EVENT_STATE, &f);
	values[0] = counter_rules_ugpu(im, m, (uint32_t)gpu.u64);
	values[1] = (uint32_t)gpu.u64;
	rows_add_counter(im, e->ts,
			 tracks_get(im, m, &track_gpu_frequency,
				    strings_intern_z(&im->store->strings, "gpufreq"), values),
			 (double)f.u64, NULL_U32);
}

static void handle_gpu_memory_total(struct import *im, struct machine *m,
				    const struct ftrace_event *e)
{
	struct pb_field gpu, pid, size;
	int64_t values[3];

	event_field(e, PB_GPU_MEM_TOTAL_FTRACE_EVENT_GPU_ID, &gpu);
	event_field(e, PB_GPU_MEM_TOTAL_FTRACE_EVENT_PID, &pid);
	event_field(e, PB_GPU_MEM_TOTAL_FTRACE_EVENT_SIZE, &size);
	values[0] = counter_rules_ugpu(im, m, (uint32_t)gpu.u64);
	values[1] = (uint32_t)gpu.u64;
	if (pid.u64) {
		values[2] = tasks_find_thread(&m->tasks, (int32_t)pid.u64);
		if (values[2] != NULL_U32)
			values[2] = tasks_upid(&m->tasks, (uint32_t)values[2]);
		if (values[2] == NULL_U32)
			return;
	}
	rows_add_counter(im, e->ts,
			 tracks_get(im, m, pid.u64 ? &process_gpu_memory : &gpu_memory,
				    strings_intern_z(&im->store->strings, "GPU Memory"), values),
			 (double)(int64_t)size.u64, NULL_U32);
}

/* ---- sensors of a Chromebook ---- */

/* Adds the age of the sensor's data as a value of its counter: the kernel's current time minus the
 * time of the sample. */
static void handle_sensor_data(struct import *im, struct machine *m, const struct ftrace_event *e)
{
	static const struct track_type type = {
		"cros_ec_sensorhub_data", NULL, true, {{"ec_sensor_num", false}}};
	struct pb_field sensor, now, sample, fifo;
	int64_t number;
	uint32_t track;

	event_field(e, PB_CROS_EC_SENSORHUB_DATA_FTRACE_EVENT_EC_SENSOR_NUM, &sensor);
	event_field(e, PB_CROS_EC_SENSORHUB_DATA_FTRACE_EVENT_CURRENT_TIME, &now);
	event_field(e, PB_CROS_EC_SENSORHUB_DATA_FTRACE_EVENT_CURRENT_TIMESTAMP, &sample);
	event_field(e, PB_CROS_EC_SENSORHUB_DATA_FTRACE_EVENT_FIFO_TIMESTAMP, &fifo);
	number = (uint32_t)sensor.u64;
	track = tracks_get(im, m, &type,
			   strings_intern_f(&im->store->strings,
					    "cros_ec.cros_ec_sensorhub_data.%u", (unsigned)number),
			   &number);
	arg_builder_add_int(im->store, &im->args, "ec_num", ARG_INT, number);
	arg_builder_add_int(im->store, &im->args, "ec_delta", ARG_INT,
			    (int64_t)(fifo.u64 - sample.u64));
	arg_builder_add_int(im->store, &im->args, "sample_ts", ARG_INT, (int64_t)sample.u64);
	rows_add_counter(im, e->ts, track, (double)(int64_t)(now.u64 - sample.u64),
			 arg_sets_add(im->store, &im->args));
}

const struct event_rule counter_rules[] = {
	{PB_FTRACE_EVENT_CPU_FREQUENCY, add_counters, NULL},
	{PB_FTRACE_EVENT_CPU_IDLE, add_counters, NULL},
	{PB_FTRACE_EVENT_CPU_FREQUENCY_LIMITS, add_counters, NULL},
	{PB_FTRACE_EVENT_DCVSH_FREQ, add_counters, NULL},
	{PB_FTRACE_EVENT_SCHED_CPU_UTIL_CFS, add_counters, NULL},
	{PB_FTRACE_EVENT_CLOCK_SET_RATE, add_counters, NULL},
	{PB_FTRACE_EVENT_CLOCK_ENABLE, add_counters, NULL},
	{PB_FTRACE_EVENT_CLOCK_DISABLE, add_counters, NULL},
	{PB_FTRACE_EVENT_THERMAL_TEMPERATURE, add_counters, NULL},
	{PB_FTRACE_EVENT_CDEV_UPDATE, add_counters, NULL},
	{PB_FTRACE_EVENT_DEVFREQ_FREQUENCY, handle_devfreq_frequency, NULL},
	{PB_FTRACE_EVENT_NETIF_RECEIVE_SKB, add_received_bytes, NULL},
	{PB_FTRACE_EVENT_NET_DEV_XMIT, add_transmitted_bytes, NULL},
	{PB_FTRACE_EVENT_KFREE_SKB, count_dropped_packet, "location"},
	{PB_FTRACE_EVENT_GPU_FREQUENCY, handle_gpu_frequency, NULL},
	{PB_FTRACE_EVENT_GPU_MEM_TOTAL, handle_gpu_memory_total, NULL},
	{PB_FTRACE_EVENT_CROS_EC_SENSORHUB_DATA, handle_sensor_data, NULL},
	{0, NULL, NULL},
};

/* Kernel events that are counters of a process's memory. */

static const struct track_type memory_by_thread = {"process_memory_thread_fallback",
						   NULL,
						   true,
						   {{"utid", false}, {"process_memory_key", true}}};
static const struct track_type oom_score_by_thread = {
	"oom_score_adj_thread_fallback", NULL, true, {{"utid", false}}};
static const struct track_type mm_event = {
	"mm_event",
	NULL,
	true,
	{{"upid", false}, {"mm_event_type", true}, {"mm_event_metric", true}}};
static const struct track_type mm_event_by_thread = {
	"mm_event_thread_fallback",
	NULL,
	true,
	{{"utid", false}, {"mm_event_type", true}, {"mm_event_metric", true}}};

static void add_memory(struct import *im, struct machine *m, int64_t ts, uint32_t utid,
		       const char *key, int64_t bytes)
{
	struct strings *s = &im->store->strings;
	struct late_counter c = {.by_process = &track_process_memory,
				 .by_thread = &memory_by_thread,
				 .name = strings_intern_f(s, "mem.%s", key),
				 .keys = {strings_intern_z(s, key)}};

	deferred_tracks_add_value(im, m, ts, utid, &c, (double)bytes);
}

/* The fields of rss_stat and of rss_stat_throttled, which numbers them differently. */
static const struct rss_fields {
	uint32_t member, size, curr, mm_id;
} rss_fields = {PB_RSS_STAT_FTRACE_EVENT_MEMBER, PB_RSS_STAT_FTRACE_EVENT_SIZE,
		PB_RSS_STAT_FTRACE_EVENT_CURR, PB_RSS_STAT_FTRACE_EVENT_MM_ID},
  throttled_fields = {
	  PB_RSS_STAT_THROTTLED_FTRACE_EVENT_MEMBER, PB_RSS_STAT_THROTTLED_FTRACE_EVENT_SIZE,
	  PB_RSS_STAT_THROTTLED_FTRACE_EVENT_CURR, PB_RSS_STAT_THROTTLED_FTRACE_EVENT_MM_ID};

struct rss_stat {
	int64_t size;
	uint64_t member;
	struct pb_field mm_id, curr; /* id 0: none */
};

static struct rss_stat read_rss_stat(const struct ftrace_event *e)
{
	const struct rss_fields *fields =
		e->number == PB_FTRACE_EVENT_RSS_STAT ? &rss_fields : &throttled_fields;
	struct rss_stat r = {.size = 0};

	pb_read(&e->message, PB_TO(fields->member, &r.member), PB_TO(fields->size, &r.size),
		PB_TO_ANY(fields->mm_id, &r.mm_id), PB_TO_ANY(fields->curr, &r.curr));
	return r;
}

/* Returns a thread of the process whose memory changed, or NULL_U32. If the event is about the
 * memory of its own thread (curr is not 0), remembers this thread for the mm_id. Otherwise, the
 * event may come from a thread of another process, so the remembered thread is returned if it is
 * alive. */
static uint32_t rss_owner_thread(struct import *im, const struct machine *m,
				 const struct ftrace_event *e, const struct rss_stat *r)
{
	int64_t *known;
	uint32_t utid;

	if (!r->mm_id.id || !r->curr.id)
		return e->utid;
	known = import_remembered(im, m, REMEMBER_MM_THREAD, r->mm_id.u64);
	if (!known)
		return NULL_U32;
	if (r->curr.u64) {
		*known = (int64_t)e->utid + 1;
		return e->utid;
	}
	utid = (uint32_t)(*known - 1); /* 0, unknown, becomes NULL_U32 */
	if (utid != NULL_U32 && !tasks_is_alive(&m->tasks, utid)) {
		*known = 0;
		return NULL_U32;
	}
	return utid;
}

static void handle_rss_stat(struct import *im, struct machine *m, const struct ftrace_event *e)
{
	static const char *const members[] = {"rss.file", "rss.anon", "swap", "rss.shmem",
					      "unreclaimable"};
	struct rss_stat r = read_rss_stat(e);
	uint32_t utid;

	if (r.size < 0) {
		stats_add(im->store, STAT_RSS_STAT_NEGATIVE_SIZE, STAT_NO_INDEX, 1);
		return;
	}
	utid = rss_owner_thread(im, m, e, &r);
	if (utid == NULL_U32)
		stats_add(im->store, STAT_RSS_STAT_UNKNOWN_THREAD_FOR_MM_ID, STAT_NO_INDEX, 1);
	else
		add_memory(im, m, e->ts, utid,
			   r.member < ARRAY_SIZE(members) ? members[r.member] : "unknown", r.size);
}

static void handle_dmabuf_rss(struct import *im, struct machine *m, const struct ftrace_event *e)
{
	struct pb_field f;

	event_field(e, PB_DMABUF_RSS_STAT_FTRACE_EVENT_RSS, &f);
	add_memory(im, m, e->ts, e->utid, "dmabuf_rss", (int64_t)f.u64);
}

static void handle_oom_score(struct import *im, struct machine *m, const struct ftrace_event *e)
{
	struct late_counter c = {.by_process = &track_oom_score_adj,
				 .by_thread = &oom_score_by_thread,
				 .name = strings_intern_z(&im->store->strings, "oom_score_adj")};
	struct pb_field tid, score;

	event_field(e, PB_OOM_SCORE_ADJ_UPDATE_FTRACE_EVENT_PID, &tid);
	event_field(e, PB_OOM_SCORE_ADJ_UPDATE_FTRACE_EVENT_OOM_SCORE_ADJ, &score);
	deferred_tracks_add_value(im, m, e->ts, tasks_get_thread(&m->tasks, (int32_t)tid.u64), &c,
				  (double)(int32_t)score.u64);
}

static void handle_mm_event_record(struct import *im, struct machine *m,
				   const struct ftrace_event *e)
{
	static const char *const types[] = {"min_flt", "maj_flt", "read_io",   "compaction",
					    "reclaim", "swp_flt", "kern_alloc"};
	static const struct {
		uint32_t field;
		const char *name;
	} metrics[] = {{PB_MM_EVENT_RECORD_FTRACE_EVENT_COUNT, "count"},
		       {PB_MM_EVENT_RECORD_FTRACE_EVENT_MAX_LAT, "max_lat"},
		       {PB_MM_EVENT_RECORD_FTRACE_EVENT_AVG_LAT, "avg_lat"}};
	struct strings *s = &im->store->strings;
	struct pb_field type, f;

	event_field(e, PB_MM_EVENT_RECORD_FTRACE_EVENT_TYPE, &type);
	if (type.u64 >= ARRAY_SIZE(types)) {
		stats_add(im->store, STAT_MM_UNKNOWN_TYPE, STAT_NO_INDEX, 1);
		return;
	}
	for (size_t i = 0; i < ARRAY_SIZE(metrics); i++) {
		struct late_counter c = {.by_process = &mm_event,
					 .by_thread = &mm_event_by_thread,
					 .name = strings_intern_f(s, "mem.mm.%s.%s",
								  types[type.u64], metrics[i].name),
					 .keys = {strings_intern_z(s, types[type.u64]),
						  strings_intern_z(s, metrics[i].name)}};

		event_field(e, metrics[i].field, &f);
		deferred_tracks_add_value(im, m, e->ts, e->utid, &c, (double)f.u64);
	}
}

const struct event_rule memory_rules[] = {
	{PB_FTRACE_EVENT_RSS_STAT, handle_rss_stat, NULL},
	{PB_FTRACE_EVENT_RSS_STAT_THROTTLED, handle_rss_stat, NULL},
	{PB_FTRACE_EVENT_DMABUF_RSS_STAT, handle_dmabuf_rss, NULL},
	{PB_FTRACE_EVENT_OOM_SCORE_ADJ_UPDATE, handle_oom_score, NULL},
	{PB_FTRACE_EVENT_MM_EVENT_RECORD, handle_mm_event_record, NULL},
	{0, NULL, NULL},
};
