/* SPDX-License-Identifier: Apache-2.0 */
/* Kernel events that are slices of a device, a connection, a CPU, or the machine's sleep. */
#include <string.h>

#include "analyze/import/event_rules.h"
#include "analyze/import/remembered.h"
#include "analyze/import/slices.h"
#include "analyze/import/tracks.h"
#include "base/core/mem.h"
#include "gen/fields.h"

static uint32_t device_slices_intern(struct import *im, const char *s)
{
	return strings_intern_z(&im->store->strings, s);
}

static void device_slices_add_text(struct import *im, const char *key, uint32_t text)
{
	arg_builder_add_int(im->store, &im->args, key, ARG_STRING, text);
}

static uint64_t event_field_number(const struct ftrace_event *e, uint32_t which)
{
	struct pb_field f;

	event_field(e, which, &f);
	return f.u64;
}

/* ---- block devices, devices' power, network interfaces ---- */

/* trace_processor lists the tracks of block_io and linux_rpm with the counters. */
static const struct track_type block_io = {"block_io", NULL, true, {{"block_device", false}}};
static const struct track_type device_power = {"linux_rpm", NULL, true, {{"linux_device", true}}};
static const struct track_type napi_gro = {"cpu_napi_gro", NULL, false, {{"cpu", false}}};
static const struct track_type hotplug = {"cpu_hotplug", NULL, false, {{"cpu", false}}};

static void handle_block_start(struct import *im, struct machine *m, const struct ftrace_event *e)
{
	int64_t dev = (int64_t)event_field_number(e, PB_BLOCK_IO_START_FTRACE_EVENT_DEV);

	arg_builder_add_int(im->store, &im->args, "sector", ARG_UINT,
			    (int64_t)event_field_number(e, PB_BLOCK_IO_START_FTRACE_EVENT_SECTOR));
	slices_begin(im, e->ts, -1, tracks_get(im, m, &block_io, NULL_U32, &dev), NULL_U32,
		     device_slices_intern(im, "block_io"), &im->args);
}

static void handle_block_done(struct import *im, struct machine *m, const struct ftrace_event *e)
{
	int64_t dev = (int64_t)event_field_number(e, PB_BLOCK_IO_DONE_FTRACE_EVENT_DEV);

	arg_builder_add_int(im->store, &im->args, "sector", ARG_UINT,
			    (int64_t)event_field_number(e, PB_BLOCK_IO_DONE_FTRACE_EVENT_SECTOR));
	slices_end(im, e->ts, tracks_get(im, m, &block_io, NULL_U32, &dev), NULL_U32,
		   device_slices_intern(im, "block_io"), &im->args);
}

/* Ends the device's slice, and begins one of the new status unless the device is suspended now. The
 * status is the kernel's enum rpm_status: 0 active, 1 resuming, 2 suspended, 3 suspending. */
static void handle_rpm_status(struct import *im, struct machine *m, const struct ftrace_event *e)
{
	int64_t device = event_text(im, e, PB_RPM_STATUS_FTRACE_EVENT_NAME);
	uint32_t track = tracks_get(im, m, &device_power, NULL_U32, &device);
	uint64_t status = event_field_number(e, PB_RPM_STATUS_FTRACE_EVENT_STATUS);

	slices_end(im, e->ts, track, NULL_U32, NULL_U32, NULL);
	if (status != 2)
		slices_begin(im, e->ts, -1, track, NULL_U32,
			     device_slices_intern(im, status == 0   ? "Active"
						      : status == 1 ? "Resuming"
						      : status == 3 ? "Suspending"
								    : "Invalid State"),
			     NULL);
}

static uint32_t napi_track(struct import *im, struct machine *m, uint32_t cpu)
{
	int64_t value = cpu;

	return tracks_get(im, m, &napi_gro,
			  strings_intern_f(&im->store->strings, "Napi Gro Cpu %u", (unsigned)cpu),
			  &value);
}

static void handle_napi_gro_entry(struct import *im, struct machine *m,
				  const struct ftrace_event *e)
{
	arg_builder_add_int(
		im->store, &im->args, "len", ARG_INT,
		(int64_t)event_field_number(e, PB_NAPI_GRO_RECEIVE_ENTRY_FTRACE_EVENT_LEN));
	slices_begin(im, e->ts, -1, napi_track(im, m, e->cpu), device_slices_intern(im, "napi_gro"),
		     event_text(im, e, PB_NAPI_GRO_RECEIVE_ENTRY_FTRACE_EVENT_NAME), &im->args);
}

static void handle_napi_gro_exit(struct import *im, struct machine *m, const struct ftrace_event *e)
{
	arg_builder_add_int(
		im->store, &im->args, "ret", ARG_INT,
		(int64_t)event_field_number(e, PB_NAPI_GRO_RECEIVE_EXIT_FTRACE_EVENT_RET));
	slices_end(im, e->ts, napi_track(im, m, e->cpu), device_slices_intern(im, "napi_gro"),
		   NULL_U32, &im->args);
}

/* ---- CPU hotplug ---- */

static uint32_t hotplug_track(struct import *im, struct machine *m, uint64_t cpu)
{
	int64_t value = (int64_t)cpu;

	return tracks_get(im, m, &hotplug,
			  strings_intern_f(&im->store->strings, "CPU Hotplug %u", (unsigned)cpu),
			  &value);
}

/* Begins the slice of a step by which a CPU goes on- or offline. cpuhp_enter and cpuhp_multi_enter
 * have the same fields. */
static void handle_hotplug_enter(struct import *im, struct machine *m, const struct ftrace_event *e)
{
	uint64_t cpu = event_field_number(e, PB_CPUHP_ENTER_FTRACE_EVENT_CPU);
	int32_t step = (int32_t)event_field_number(e, PB_CPUHP_ENTER_FTRACE_EVENT_IDX);

	if (cpu >= MAX_CPUS)
		return;
	arg_builder_add_int(im->store, &im->args, "action_cpu", ARG_UINT, e->cpu);
	arg_builder_add_int(im->store, &im->args, "cpuhp_idx", ARG_INT, step);
	slices_begin(im, e->ts, -1, hotplug_track(im, m, cpu), device_slices_intern(im, "cpu"),
		     strings_intern_f(&im->store->strings, "cpuhp(%d)", (int)step), &im->args);
}

static void handle_hotplug_exit(struct import *im, struct machine *m, const struct ftrace_event *e)
{
	uint64_t cpu = event_field_number(e, PB_CPUHP_EXIT_FTRACE_EVENT_CPU);

	if (cpu < MAX_CPUS)
		slices_end(im, e->ts, hotplug_track(im, m, cpu), NULL_U32, NULL_U32, NULL);
}

/* ---- sleep ---- */

static const struct track_type sleep_steps = {
	"suspend_resume", NULL, false, {{"track_compressor_idx", false}}};
static const struct track_type sleep_minimal = {
	"suspend_resume_minimal", NULL, false, {{NULL, false}}};
static const struct track_type wakelock = {
	"wakesource_wakelock", NULL, false, {{"wakelock_event", true}}};

/* Begins a slice of a step. cookie: a string that the step's begin and its end have in common. */
static void begin_sleep_step(struct import *im, struct machine *m, const struct ftrace_event *e,
			     uint32_t cookie, uint32_t name)
{
	struct track_group *g = track_groups_get(im, m, &sleep_steps, NULL);
	struct track_slot *slot = g ? track_group_get_slot(im, g, cookie) : NULL;

	if (!slot) {
		im->args.n = 0;
		return;
	}
	if (slot->track == NULL_U32)
		track_group_make_track(im, m, g, slot,
				       device_slices_intern(im, "Suspend/Resume Latency"));
	slot->open++;
	slices_begin(im, e->ts, -1, slot->track, NULL_U32, name, &im->args);
}

static void end_sleep_step(struct import *im, struct machine *m, const struct ftrace_event *e,
			   uint32_t cookie)
{
	struct track_group *g = track_groups_get(im, m, &sleep_steps, NULL);
	struct track_slot *slot = g ? track_group_find_slot(g, cookie) : NULL;

	if (!slot || !slot->open)
		return;
	track_slot_set_open(slot, slot->open - 1);
	slices_end(im, e->ts, slot->track, NULL_U32, NULL_U32, NULL);
}

static void add_step_args(struct import *im, const struct ftrace_event *e, const char *type,
			  uint32_t device, uint32_t driver, uint32_t phase)
{
	arg_builder_add_int(im->store, &im->args, "utid", ARG_UINT, e->utid);
	device_slices_add_text(im, "event_type", device_slices_intern(im, type));
	arg_builder_add_int(im->store, &im->args, "cpu", ARG_UINT, e->cpu);
	device_slices_add_text(im, "device_name", device);
	device_slices_add_text(im, "driver_name", driver);
	device_slices_add_text(im, "callback_phase", phase);
}

/* Ends the step suspend_enter of a suspend that failed early. The kernel then freezes the
 * processes, thaws them and returns, without the event of the step's end. Only a failed suspend has
 * its events in this order, so the step ends with the thawing. */
static void follow_order_of_suspend(struct import *im, struct machine *m,
				    const struct ftrace_event *e, const char *action, bool starts,
				    uint32_t name)
{
	if (!strcmp(action, "suspend_enter")) {
		m->suspend = starts ? SUSPEND_ENTERED : SUSPEND_NONE;
		m->suspend_step = name;
	} else if (!strcmp(action, "freeze_processes") && starts && m->suspend == SUSPEND_ENTERED) {
		m->suspend = SUSPEND_FREEZING;
	} else if (!strcmp(action, "thaw_processes") && !starts && m->suspend == SUSPEND_FREEZING) {
		end_sleep_step(im, m, e, m->suspend_step);
		m->suspend = SUSPEND_NONE;
	}
}

static void handle_suspend_resume(struct import *im, struct machine *m,
				  const struct ftrace_event *e)
{
	struct strings *s = &im->store->strings;
	const char *action =
		strings_get(s, event_text(im, e, PB_SUSPEND_RESUME_FTRACE_EVENT_ACTION));
	int32_t val = (int32_t)event_field_number(e, PB_SUSPEND_RESUME_FTRACE_EVENT_VAL);
	bool starts = event_field_number(e, PB_SUSPEND_RESUME_FTRACE_EVENT_START);
	uint32_t name;

	if (!strcmp(action, "timekeeping_freeze")) /* its begin and its end have different values */
		val = 0;
	name = strings_intern_f(s, "%.200s(%d)", action, (int)val);
	if (starts) {
		add_step_args(im, e, "Main Kernel Suspend Event", NULL_U32, NULL_U32, NULL_U32);
		begin_sleep_step(im, m, e, name, name);
	} else {
		end_sleep_step(im, m, e, name);
	}
	follow_order_of_suspend(im, m, e, action, starts, name);
}

/* Returns the name of a request to a device, which is a bit of the kernel's pm_message_t. Without a
 * level, a suspend means to prepare, and a resume to complete. */
static const char *pm_phase(uint64_t event, bool has_level)
{
	switch (event) {
	case 0x01:
		return "freeze";
	case 0x02:
		return has_level ? "suspend" : "suspend:prepare";
	case 0x04:
		return "hibernate";
	case 0x08:
		return "quiesce";
	case 0x10:
		return has_level ? "resume" : "resume:complete";
	case 0x20:
		return "thaw";
	case 0x40:
		return "restore";
	case 0x80:
		return "recover";
	}
	return "(unknown PM event)";
}

static void handle_pm_start(struct import *im, struct machine *m, const struct ftrace_event *e)
{
	struct strings *s = &im->store->strings;
	uint32_t device = event_text(im, e, PB_DEVICE_PM_CALLBACK_START_FTRACE_EVENT_DEVICE);
	uint32_t driver = event_text(im, e, PB_DEVICE_PM_CALLBACK_START_FTRACE_EVENT_DRIVER);
	uint32_t level = event_text(im, e, PB_DEVICE_PM_CALLBACK_START_FTRACE_EVENT_PM_OPS);
	uint64_t event = event_field_number(e, PB_DEVICE_PM_CALLBACK_START_FTRACE_EVENT_EVENT);

	add_step_args(im, e, "Device PM Suspend Event", device, driver,
		      device_slices_intern(im, pm_phase(event, *strings_get(s, level))));
	begin_sleep_step(
		im, m, e, device,
		strings_intern_f(s, "%s %s", strings_get(s, device), strings_get(s, driver)));
}

static void handle_pm_end(struct import *im, struct machine *m, const struct ftrace_event *e)
{
	end_sleep_step(im, m, e, event_text(im, e, PB_DEVICE_PM_CALLBACK_END_FTRACE_EVENT_DEVICE));
}

static void handle_suspend_minimal(struct import *im, struct machine *m,
				   const struct ftrace_event *e)
{
	uint32_t track = tracks_get(im, m, &sleep_minimal,
				    device_slices_intern(im, "Suspend/Resume Minimal"), NULL);

	if (event_field_number(e, PB_SUSPEND_RESUME_MINIMAL_FTRACE_EVENT_START))
		slices_begin(im, e->ts, -1, track, NULL_U32, device_slices_intern(im, "Suspended"),
			     NULL);
	else
		slices_end(im, e->ts, track, NULL_U32, NULL_U32, NULL);
}

/* ---- what keeps the machine awake: a slice from the first holder to the last ---- */

static uint32_t lock_name(struct import *im, uint32_t source)
{
	return strings_intern_f(&im->store->strings, "Wakelock(%s)",
				strings_get(&im->store->strings, source));
}

static void handle_wakeup_source_activate(struct import *im, struct machine *m,
					  const struct ftrace_event *e)
{
	uint32_t source = event_text(im, e, PB_WAKEUP_SOURCE_ACTIVATE_FTRACE_EVENT_NAME);
	int64_t *held = import_remembered(im, m, REMEMBER_WAKE_LOCKS, source), value = source;

	if (held && ++*held == 1)
		slices_begin(im, e->ts, -1,
			     tracks_get(im, m, &wakelock, lock_name(im, source), &value), NULL_U32,
			     lock_name(im, source), NULL);
}

static void handle_wakeup_source_deactivate(struct import *im, struct machine *m,
					    const struct ftrace_event *e)
{
	uint32_t source = event_text(im, e, PB_WAKEUP_SOURCE_DEACTIVATE_FTRACE_EVENT_NAME);
	int64_t *held = import_remembered(im, m, REMEMBER_WAKE_LOCKS, source), value = source;

	if (held && *held > 0 && --*held == 0)
		slices_end(im, e->ts, tracks_get(im, m, &wakelock, lock_name(im, source), &value),
			   NULL_U32, NULL_U32, NULL);
}

/* ---- connections of TCP ---- */

#define FAMILY_INET 2
#define FAMILY_INET6 10
#define PROTOCOL_TCP 6

static const struct track_type tcp_stream = {
	"net_socket_set_state", NULL, false, {{"tcp_stream_idx", false}}};
static const struct track_type tcp_retransmits = {
	"net_tcp_retransmit_skb", NULL, false, {{NULL, false}}};

/* By the kernel's number of the state. */
static const char *const tcp_states[] = {NULL,
					 "TCP_ESTABLISHED",
					 "TCP_SYN_SENT",
					 "TCP_SYN_RECV",
					 "TCP_FIN_WAIT1",
					 "TCP_FIN_WAIT2",
					 "TCP_TIME_WAIT",
					 "TCP_CLOSE",
					 "TCP_CLOSE_WAIT",
					 "TCP_LAST_ACK",
					 "TCP_LISTEN",
					 "TCP_CLOSING",
					 "TCP_NEW_SYN_RECV"};

static uint32_t tcp_stream_track(struct import *im, struct machine *m, const struct ftrace_event *e)
{
	int64_t *stream = import_remembered(
		im, m, REMEMBER_TCP_STREAM,
		event_field_number(e, PB_INET_SOCK_SET_STATE_FTRACE_EVENT_SKADDR));

	if (!stream)
		return NULL_U32;
	if (!*stream)
		*stream = import_remembered_count(im, REMEMBER_TCP_STREAM);
	return tracks_get(im, m, &tcp_stream,
			  strings_intern_f(&im->store->strings, "TCP stream#%u", (unsigned)*stream),
			  stream);
}

static void handle_inet_sock_set_state(struct import *im, struct machine *m,
				       const struct ftrace_event *e)
{
	struct strings *s = &im->store->strings;
	uint64_t state = event_field_number(e, PB_INET_SOCK_SET_STATE_FTRACE_EVENT_NEWSTATE);
	uint64_t family = event_field_number(e, PB_INET_SOCK_SET_STATE_FTRACE_EVENT_FAMILY);
	uint32_t track, name;

	if (event_field_number(e, PB_INET_SOCK_SET_STATE_FTRACE_EVENT_PROTOCOL) != PROTOCOL_TCP ||
	    (family != FAMILY_INET && family != FAMILY_INET6) || state >= ARRAY_SIZE(tcp_states) ||
	    !tcp_states[state])
		return;
	track = tcp_stream_track(im, m, e);
	if (track == NULL_U32)
		return;
	name = device_slices_intern(im, tcp_states[state]);
	if (state == 2)
		name = strings_intern_f(s, "%s(pid=%d)", tcp_states[state], (int)e->tid);
	else if (state == 1)
		name = strings_intern_f(
			s, "%s(sport=%u,dport=%u)", tcp_states[state],
			(unsigned)event_field_number(e, PB_INET_SOCK_SET_STATE_FTRACE_EVENT_SPORT),
			(unsigned)event_field_number(e, PB_INET_SOCK_SET_STATE_FTRACE_EVENT_DPORT));
	slices_end(im, e->ts, track, NULL_U32, NULL_U32, NULL);
	slices_begin(im, e->ts, -1, track, device_slices_intern(im, "tcp_state"), name, NULL);
}

static void handle_tcp_retransmit_skb(struct import *im, struct machine *m,
				      const struct ftrace_event *e)
{
	uint32_t track = tracks_get(im, m, &tcp_retransmits,
				    device_slices_intern(im, "TCP Retransmit Skb"), NULL);

	slices_begin(
		im, e->ts, 0, track, device_slices_intern(im, "tcp_event"),
		strings_intern_f(
			&im->store->strings, "sport=%u,dport=%u",
			(unsigned)event_field_number(e, PB_TCP_RETRANSMIT_SKB_FTRACE_EVENT_SPORT),
			(unsigned)event_field_number(e, PB_TCP_RETRANSMIT_SKB_FTRACE_EVENT_DPORT)),
		NULL);
}

const struct event_rule device_slice_rules[] = {
	{PB_FTRACE_EVENT_BLOCK_IO_START, handle_block_start, NULL},
	{PB_FTRACE_EVENT_BLOCK_IO_DONE, handle_block_done, NULL},
	{PB_FTRACE_EVENT_RPM_STATUS, handle_rpm_status, NULL},
	{PB_FTRACE_EVENT_NAPI_GRO_RECEIVE_ENTRY, handle_napi_gro_entry, NULL},
	{PB_FTRACE_EVENT_NAPI_GRO_RECEIVE_EXIT, handle_napi_gro_exit, NULL},
	{PB_FTRACE_EVENT_CPUHP_ENTER, handle_hotplug_enter, NULL},
	{PB_FTRACE_EVENT_CPUHP_MULTI_ENTER, handle_hotplug_enter, NULL},
	{PB_FTRACE_EVENT_CPUHP_EXIT, handle_hotplug_exit, NULL},
	{PB_FTRACE_EVENT_SUSPEND_RESUME, handle_suspend_resume, NULL},
	{PB_FTRACE_EVENT_DEVICE_PM_CALLBACK_START, handle_pm_start, NULL},
	{PB_FTRACE_EVENT_DEVICE_PM_CALLBACK_END, handle_pm_end, NULL},
	{PB_FTRACE_EVENT_SUSPEND_RESUME_MINIMAL, handle_suspend_minimal, NULL},
	{PB_FTRACE_EVENT_WAKEUP_SOURCE_ACTIVATE, handle_wakeup_source_activate, NULL},
	{PB_FTRACE_EVENT_WAKEUP_SOURCE_DEACTIVATE, handle_wakeup_source_deactivate, NULL},
	{PB_FTRACE_EVENT_INET_SOCK_SET_STATE, handle_inet_sock_set_state, NULL},
	{PB_FTRACE_EVENT_TCP_RETRANSMIT_SKB, handle_tcp_retransmit_skb, NULL},
	{0, NULL, NULL},
};

/* Kernel events of storage: commands of UFS controllers, counters of F2FS. */

static uint64_t storage_field_number(const struct ftrace_event *e, uint32_t which)
{
	struct pb_field f;

	event_field(e, which, &f);
	return f.u64;
}

/* ---- UFS ---- */

static const struct track_type ufs_count = {"ufs_command_count", NULL, true, {{NULL, false}}};
static const struct track_type ufs_clock = {"ufs_clkgating", NULL, true, {{NULL, false}}};
static const struct track_type ufs_tag = {"ufs_command_tag", NULL, false, {{"ufs_tag", false}}};

/* Operations of SCSI. */
static const char *const scsi_names[256] = {
	[0x00] = "TEST UNIT READY",
	[0x03] = "REQUEST SENSE",
	[0x04] = "FORMAT UNIT",
	[0x08] = "READ (6)",
	[0x0a] = "WRITE (6)",
	[0x12] = "INQUIRY",
	[0x1b] = "START STOP UNIT",
	[0x1d] = "SEND DIAGNOSTIC",
	[0x25] = "READ CAPACITY (10)",
	[0x28] = "READ (10)",
	[0x2a] = "WRITE (10)",
	[0x2f] = "VERIFY",
	[0x34] = "PRE-FETCH (10)",
	[0x35] = "SYNCHRONIZE CACHE (10)",
	[0x3b] = "WRITE BUFFER",
	[0x3c] = "READ BUFFER",
	[0x42] = "UNMAP",
	[0x55] = "MODE SELECT (10)",
	[0x5a] = "MODE SENSE (10)",
	[0x88] = "READ (16)",
	[0x8a] = "WRITE (16)",
	[0x90] = "PRE-FETCH (16)",
	[0x91] = "SYNCHRONIZE CACHE (16)",
	[0x9e] = "READ CAPACITY (16)",
	[0xa0] = "REPORT LUNS",
	[0xa2] = "SECURITY PROTOCOL IN",
	[0xb5] = "SECURITY PROTOCOL OUT",
};

static uint32_t scsi_name(struct import *im, uint32_t operation, uint32_t group)
{
	const char *name = operation < ARRAY_SIZE(scsi_names) ? scsi_names[operation] : NULL;

	name = name ? name : "UNDEFINED";
	return group ? strings_intern_f(&im->store->strings, "%s (GID=0x%x)", name, (unsigned)group)
		     : strings_intern_z(&im->store->strings, name);
}

/* Adds the number of commands that the controller works on (the bits of its doorbell) as a value of
 * a counter, and begins or ends the slice of the command's tag. */
static void handle_ufs_command(struct import *im, struct machine *m, const struct ftrace_event *e)
{
	uint32_t doorbell =
		(uint32_t)storage_field_number(e, PB_UFSHCD_COMMAND_FTRACE_EVENT_DOORBELL);
	uint64_t step = storage_field_number(e, PB_UFSHCD_COMMAND_FTRACE_EVENT_STR_T);
	int64_t tag = (uint32_t)storage_field_number(e, PB_UFSHCD_COMMAND_FTRACE_EVENT_TAG);
	int n = doorbell ? __builtin_popcount(doorbell) : step != 1;
	uint32_t track;

	rows_add_counter(im, e->ts,
			 tracks_get(im, m, &ufs_count,
				    strings_intern_z(&im->store->strings, "io.ufs.command.count"),
				    NULL),
			 n, NULL_U32);
	track = tracks_get(
		im, m, &ufs_tag,
		strings_intern_f(&im->store->strings, "io.ufs.command.tag[%03u]", (unsigned)tag),
		&tag);
	if (step)
		slices_end(im, e->ts, track, NULL_U32, NULL_U32, NULL);
	else
		slices_begin(im, e->ts, -1, track, NULL_U32,
			     scsi_name(im,
				       (uint32_t)storage_field_number(
					       e, PB_UFSHCD_COMMAND_FTRACE_EVENT_OPCODE),
				       (uint32_t)storage_field_number(
					       e, PB_UFSHCD_COMMAND_FTRACE_EVENT_GROUP_ID)),
			     NULL);
}

/* Adds the state of the clock's gating as a value of a counter. The kernel's states are 0 off, 1
 * on, 2 off requested, 3 on requested; the counter's values are in the order of power. */
static void handle_ufs_clock_gating(struct import *im, struct machine *m,
				    const struct ftrace_event *e)
{
	static const uint8_t values[] = {0, 3, 1, 2};
	uint64_t state = storage_field_number(e, PB_UFSHCD_CLK_GATING_FTRACE_EVENT_STATE);

	rows_add_counter(
		im, e->ts,
		tracks_get(im, m, &ufs_clock,
			   strings_intern_z(&im->store->strings,
					    "io.ufs.clkgating (OFF:0/REQ_OFF/REQ_ON/ON:3)"),
			   NULL),
		state < ARRAY_SIZE(values) ? values[state] : 0, NULL_U32);
}

/* ---- F2FS ---- */

#define F2FS_DIMENSIONS                                                                            \
	{                                                                                          \
		{"linux_device", true}, {"counter_key", true},                                     \
	}
static const struct track_type f2fs_bytes = {"f2fs_iostat", NULL, true, F2FS_DIMENSIONS};
static const struct track_type f2fs_latency = {"f2fs_iostat_latency", NULL, true, F2FS_DIMENSIONS};

struct f2fs_counter {
	uint32_t field;
	const char *key;
};

#define IOSTAT(field, key)                                                                         \
	{                                                                                          \
		PB_F2FS_IOSTAT_FTRACE_EVENT_##field, key                                           \
	}
static const struct f2fs_counter byte_counters[] = {
	IOSTAT(APP_WIO, "write_app_total"),    IOSTAT(APP_DIO, "write_app_direct"),
	IOSTAT(APP_BIO, "write_app_buffered"), IOSTAT(APP_MIO, "write_app_mapped"),
	IOSTAT(FS_DIO, "write_fs_data"),       IOSTAT(FS_NIO, "write_fs_node"),
	IOSTAT(FS_MIO, "write_fs_meta"),       IOSTAT(FS_GC_DIO, "write_gc_data"),
	IOSTAT(FS_GC_NIO, "write_gc_node"),    IOSTAT(FS_CP_DIO, "write_cp_data"),
	IOSTAT(FS_CP_NIO, "write_cp_node"),    IOSTAT(FS_CP_MIO, "write_cp_meta"),
	IOSTAT(APP_RIO, "read_app_total"),     IOSTAT(APP_DRIO, "read_app_direct"),
	IOSTAT(APP_BRIO, "read_app_buffered"), IOSTAT(APP_MRIO, "read_app_mapped"),
	IOSTAT(FS_DRIO, "read_fs_data"),       IOSTAT(FS_GDRIO, "read_fs_gdata"),
	IOSTAT(FS_CDRIO, "read_fs_cdata"),     IOSTAT(FS_NRIO, "read_fs_node"),
	IOSTAT(FS_MRIO, "read_fs_meta"),       IOSTAT(FS_DISCARD, "other_fs_discard"),
};

#define LATENCY(field, key)                                                                        \
	{PB_F2FS_IOSTAT_LATENCY_FTRACE_EVENT_##field##_PEAK, key "_peak"},                         \
		{PB_F2FS_IOSTAT_LATENCY_FTRACE_EVENT_##field##_AVG, key "_avg"},                   \
	{                                                                                          \
		PB_F2FS_IOSTAT_LATENCY_FTRACE_EVENT_##field##_CNT, key "_cnt"                      \
	}
static const struct f2fs_counter latency_counters[] = {
	LATENCY(D_RD, "read_data"),	      LATENCY(N_RD, "read_node"),
	LATENCY(M_RD, "read_meta"),	      LATENCY(D_WR_S, "write_sync_data"),
	LATENCY(N_WR_S, "write_sync_node"),   LATENCY(M_WR_S, "write_sync_meta"),
	LATENCY(D_WR_AS, "write_async_data"), LATENCY(N_WR_AS, "write_async_node"),
	LATENCY(M_WR_AS, "write_async_meta"),
};

static void add_f2fs(struct import *im, struct machine *m, const struct ftrace_event *e,
		     const struct track_type *type, uint64_t dev,
		     const struct f2fs_counter *counters, size_t n)
{
	struct strings *s = &im->store->strings;
	uint32_t device =
		strings_intern_f(s, "%u:%u", (unsigned)(dev >> 8 & 0xff), (unsigned)(dev & 0xff));

	for (size_t i = 0; i < n; i++) {
		const int64_t values[] = {device, strings_intern_z(s, counters[i].key)};
		uint32_t name = strings_intern_f(s, "%s.[%s].%s", type->type,
						 strings_get(s, device), counters[i].key);

		rows_add_counter(im, e->ts, tracks_get(im, m, type, name, values),
				 (double)storage_field_number(e, counters[i].field), NULL_U32);
	}
}

static void handle_f2fs_iostat(struct import *im, struct machine *m, const struct ftrace_event *e)
{
	add_f2fs(im, m, e, &f2fs_bytes, storage_field_number(e, PB_F2FS_IOSTAT_FTRACE_EVENT_DEV),
		 byte_counters, ARRAY_SIZE(byte_counters));
}

static void handle_f2fs_iostat_latency(struct import *im, struct machine *m,
				       const struct ftrace_event *e)
{
	add_f2fs(im, m, e, &f2fs_latency,
		 storage_field_number(e, PB_F2FS_IOSTAT_LATENCY_FTRACE_EVENT_DEV), latency_counters,
		 ARRAY_SIZE(latency_counters));
}

const struct event_rule storage_rules[] = {
	{PB_FTRACE_EVENT_UFSHCD_COMMAND, handle_ufs_command, NULL},
	{PB_FTRACE_EVENT_UFSHCD_CLK_GATING, handle_ufs_clock_gating, NULL},
	{PB_FTRACE_EVENT_F2FS_IOSTAT, handle_f2fs_iostat, NULL},
	{PB_FTRACE_EVENT_F2FS_IOSTAT_LATENCY, handle_f2fs_iostat_latency, NULL},
	{0, NULL, NULL},
};
