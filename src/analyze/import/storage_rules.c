/* SPDX-License-Identifier: Apache-2.0 */
/* Kernel events of storage: commands of UFS controllers, counters of F2FS. */
#include "analyze/import/event_rules.h"
#include "analyze/import/import_steps.h"
#include "analyze/import/slices.h"
#include "analyze/import/tracks.h"
#include "base/core/mem.h"
#include "gen/fields.h"

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

/* The counter is the number of commands that the controller has: the bits of its doorbell. */
static void ufs_command(struct import *im, struct machine *m, const struct ftrace_event *e)
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

/* The kernel's states are 0 off, 1 on, 2 off requested, 3 on requested. The counter's values have
 * the order of power. */
static void ufs_clock_gating(struct import *im, struct machine *m, const struct ftrace_event *e)
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

static void f2fs_iostat(struct import *im, struct machine *m, const struct ftrace_event *e)
{
	add_f2fs(im, m, e, &f2fs_bytes, storage_field_number(e, PB_F2FS_IOSTAT_FTRACE_EVENT_DEV),
		 byte_counters, ARRAY_SIZE(byte_counters));
}

static void f2fs_iostat_latency(struct import *im, struct machine *m, const struct ftrace_event *e)
{
	add_f2fs(im, m, e, &f2fs_latency,
		 storage_field_number(e, PB_F2FS_IOSTAT_LATENCY_FTRACE_EVENT_DEV), latency_counters,
		 ARRAY_SIZE(latency_counters));
}

const struct event_rule storage_rules[] = {
	{PB_FTRACE_EVENT_UFSHCD_COMMAND, ufs_command, NULL},
	{PB_FTRACE_EVENT_UFSHCD_CLK_GATING, ufs_clock_gating, NULL},
	{PB_FTRACE_EVENT_F2FS_IOSTAT, f2fs_iostat, NULL},
	{PB_FTRACE_EVENT_F2FS_IOSTAT_LATENCY, f2fs_iostat_latency, NULL},
	{0, NULL, NULL},
};
