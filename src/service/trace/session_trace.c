/* SPDX-License-Identifier: Apache-2.0 */
#include "service/trace/session_trace.h"

#include <sys/random.h>

#include "base/core/clock.h"
#include "service/session/session.h"

void session_record(struct session *s, enum lifecycle_kind kind)
{
	lifecycle_add(&s->lifecycle, kind, clock_boot_ns());
}

static bool snapshots_clocks(const struct session *s)
{
	const Pb__TraceConfig__BuiltinDataSource *b = s->config->builtin_data_sources;

	return !b || !b->disable_clock_snapshotting;
}

void session_snapshot_clocks(struct session *s)
{
	struct clock_snapshot now;

	if (!snapshots_clocks(s))
		return;
	clock_snapshot_take(&now);
	clock_snapshots_add(&s->clocks, &now);
}

/* The initial one is written before those in the ring: one that is older may not be left there, or
 * the clocks of the trace would go back. */
static void snapshot_initial(struct session *s)
{
	if (!snapshots_clocks(s))
		return;
	clock_snapshots_clear(&s->clocks);
	clock_snapshot_take(&s->clocks.initial);
	s->clocks.has_initial = true;
}

void session_snapshot_start(struct session *s)
{
	struct clock_snapshot now;

	clock_snapshot_take(&now);
	s->start_realtime_ns = (int64_t)now.value[CLOCK_SNAPSHOT_REALTIME];
	snapshot_initial(s);
}

/* Deprecated for who writes a config; Perfetto's command line still sets them in every one. */
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"
static void take_config_uuid(struct session *s, const Pb__TraceConfig *c)
{
	s->uuid_msb = c->trace_uuid_msb;
	s->uuid_lsb = c->trace_uuid_lsb;
}
#pragma GCC diagnostic pop

/* Of version 4 (RFC 4122). */
static void random_uuid(struct session *s)
{
	uint64_t half[2] = {0};

	if (getrandom(half, sizeof(half), 0) != sizeof(half)) {
		half[0] = clock_boot_ns();
		half[1] = s->id;
	}
	s->uuid_msb = (int64_t)((half[0] & ~0xf000ull) | 0x4000);
	s->uuid_lsb = (int64_t)((half[1] & ~(3ull << 62)) | 2ull << 62);
}

void session_make_uuid(struct session *s)
{
	take_config_uuid(s, s->config);
	if (!s->uuid_msb && !s->uuid_lsb)
		random_uuid(s);
}

void session_make_uuid_of(struct session *s, int64_t lsb)
{
	random_uuid(s);
	s->uuid_lsb = lsb;
}

void session_begin_trace(struct session *s)
{
	session_make_uuid_of(s, s->uuid_lsb);
	snapshot_initial(s);
	s->head_written = false;
	s->sync_marker_due = true;
}
