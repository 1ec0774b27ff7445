/* SPDX-License-Identifier: Apache-2.0 */
/* Packets with a few values each: of batteries, of triggers, of other sessions. */
#include <string.h>

#include "analyze/import/import_steps.h"
#include "analyze/import/slices.h"
#include "analyze/import/states.h"
#include "analyze/import/tracks.h"
#include "base/core/mem.h"
#include "gen/fields.h"

/* ---- batteries ---- */

static const struct track_type battery_type = {
	"battery_counter", NULL, true, {{"battery_name", true}, {"counter_name", true}}};

/* The values, in the order in which they become rows. */
enum battery_value { CHARGE, CAPACITY, CURRENT, CURRENT_AVG, VOLTAGE, POWER, BATTERY_VALUES };

struct battery {
	uint32_t name; /* NULL_U32: none */
	double values[BATTERY_VALUES];
	bool has[BATTERY_VALUES];
	bool has_energy;
	int64_t energy_uwh, current_ua, voltage_uv;
};

static void set_battery_value(struct battery *b, enum battery_value which, double v)
{
	b->values[which] = v;
	b->has[which] = true;
}

static void read_battery(struct import *im, const struct pb_field *packet, struct battery *b)
{
	float percent;
	uint32_t bits;

	pb_for_each (f, packet) {
		if (f.id == PB_BATTERY_COUNTERS_NAME && f.data && f.len) {
			b->name = strings_intern(&im->store->strings, f.data, f.len);
		} else if (f.id == PB_BATTERY_COUNTERS_CHARGE_COUNTER_UAH) {
			set_battery_value(b, CHARGE, (double)(int64_t)f.u64);
		} else if (f.id == PB_BATTERY_COUNTERS_CAPACITY_PERCENT) {
			bits = (uint32_t)f.u64;
			memcpy(&percent, &bits, sizeof(percent));
			set_battery_value(b, CAPACITY, (double)percent);
		} else if (f.id == PB_BATTERY_COUNTERS_CURRENT_UA) {
			b->current_ua = (int64_t)f.u64;
			set_battery_value(b, CURRENT, (double)b->current_ua);
		} else if (f.id == PB_BATTERY_COUNTERS_CURRENT_AVG_UA) {
			set_battery_value(b, CURRENT_AVG, (double)(int64_t)f.u64);
		} else if (f.id == PB_BATTERY_COUNTERS_VOLTAGE_UV) {
			b->voltage_uv = (int64_t)f.u64;
			set_battery_value(b, VOLTAGE, (double)b->voltage_uv);
		} else if (f.id == PB_BATTERY_COUNTERS_ENERGY_COUNTER_UWH) {
			b->energy_uwh = (int64_t)f.u64;
			b->has_energy = true;
		}
	}
}

/* Drops the fraction. A value outside the range of 64-bit numbers is returned unchanged. */
static double truncate_to_whole(double v)
{
	return v > -9e18 && v < 9e18 ? (double)(int64_t)v : v;
}

/* Derives the charge from energy and voltage, and the power from current and voltage. */
static void derive_charge_and_power(struct battery *b)
{
	double mw;

	if (!b->has[CHARGE] && b->has_energy && b->voltage_uv)
		set_battery_value(
			b, CHARGE,
			truncate_to_whole((double)b->energy_uwh * 1e6 / (double)b->voltage_uv));
	if (b->has[CURRENT] && b->has[VOLTAGE]) {
		mw = (double)b->current_ua * (double)b->voltage_uv / 1e9;
		set_battery_value(b, POWER, truncate_to_whole(mw < 0 ? -mw : mw));
	}
}

void import_battery(struct import *im, struct machine *m, int64_t ts, const struct pb_field *packet)
{
	static const char *const names[] = {"charge_uah",     "capacity_pct", "current_ua",
					    "current.avg_ua", "voltage_uv",   "power_mw"};
	struct strings *s = &im->store->strings;
	struct battery b = {.name = NULL_U32};

	read_battery(im, packet, &b);
	derive_charge_and_power(&b);
	for (size_t i = 0; i < BATTERY_VALUES; i++) {
		int64_t values[] = {b.name, strings_intern_z(s, names[i])};
		uint32_t name;

		if (!b.has[i])
			continue;
		name = b.name == NULL_U32 ? strings_intern_f(s, "batt.%s", names[i])
					  : strings_intern_f(s, "batt.%s.%s",
							     strings_get(s, b.name), names[i]);
		rows_add_counter(im, ts, tracks_get(im, m, &battery_type, name, values),
				 b.values[i], NULL_U32);
	}
}

/* ---- triggers ---- */

static const struct track_type trigger_type = {"triggers", NULL, false, {{NULL, false}}};

void import_trigger(struct import *im, struct machine *m, int64_t ts, const struct pb_field *packet)
{
	struct strings *s = &im->store->strings;
	struct pb_field name = {0}, producer = {0};
	uint64_t uid = UINT64_MAX;
	uint32_t track;

	pb_read(packet, PB_TO(PB_TRIGGER_TRIGGER_NAME, &name),
		PB_TO(PB_TRIGGER_PRODUCER_NAME, &producer),
		PB_TO(PB_TRIGGER_TRUSTED_PRODUCER_UID, &uid));
	if (producer.id)
		arg_builder_add_int(im->store, &im->args, "producer_name", ARG_STRING,
				    import_intern_text(im, &producer));
	if (uid != UINT64_MAX)
		arg_builder_add_int(im->store, &im->args, "trusted_producer_uid", ARG_INT,
				    (int32_t)uid);
	track = tracks_get(im, m, &trigger_type, strings_intern_z(s, "Trace Triggers"), NULL);
	slices_begin(im, ts, 0, track, NULL_U32, import_intern_text(im, &name), &im->args);
}

/* ---- other sessions ---- */

static const struct track_type session_type = {
	"concurrent_tracing_sessions", NULL, false, {{"session_id", false}}};

static const char *const session_states[] = {NULL,
					     "DISABLED",
					     "CONFIGURED",
					     "STARTED",
					     "DISABLING_WAITING_STOP_ACKS",
					     "CLONED_READ_ONLY"};

#define STATE_DISABLED 1
#define STATE_CLONED 5

struct session_change {
	struct pb_field name; /* id 0: none */
	uint64_t state;
	int64_t id;
};

/* Returns the session's track, which has the name of its first change. */
static uint32_t session_track(struct import *im, struct machine *m, const struct session_change *c)
{
	const char *suffix = c->state == STATE_CLONED ? " (clone)" : "";
	struct strings *s = &im->store->strings;
	uint32_t name, track;

	if (c->name.len)
		name = strings_intern_f(s, "%.*s%s", (int)c->name.len, (const char *)c->name.data,
					suffix);
	else
		name = strings_intern_f(s, "Session %lld%s", (long long)c->id, suffix);
	track = tracks_get(im, m, &session_type, name, &c->id);
	table_set_u32(import_table(im, TABLE_TRACK), TRACK_EVENT_TYPE, track,
		      strings_intern_z(s, "state"));
	return track;
}

/* Sets the state of a session. A disabled session has no state any more: its last state has the
 * length 0. */
void import_session_change(struct import *im, struct machine *m, int64_t ts,
			   const struct pb_field *packet)
{
	struct session_change c = {.state = 0};
	uint32_t track;

	pb_read(packet, PB_TO(PB_CONCURRENT_SESSION_EVENT_STATE, &c.state),
		PB_TO(PB_CONCURRENT_SESSION_EVENT_SESSION_NAME, &c.name),
		PB_TO(PB_CONCURRENT_SESSION_EVENT_SESSION_ID, &c.id));
	if (c.state == 0 || c.state >= ARRAY_SIZE(session_states))
		return;
	pb_for_each (f, packet) {
		if (f.id == PB_CONCURRENT_SESSION_EVENT_CONSUMER_UID)
			arg_builder_add_int(im->store, &im->args, "consumer_uid", ARG_INT,
					    (int32_t)f.u64);
		else if (f.id == PB_CONCURRENT_SESSION_EVENT_NUM_DATA_SOURCES)
			arg_builder_add_int(im->store, &im->args, "num_data_sources", ARG_UINT,
					    (uint32_t)f.u64);
	}
	track = session_track(im, m, &c);
	states_set(im, ts, track, strings_intern_z(&im->store->strings, session_states[c.state]),
		   &im->args);
	if (c.state == STATE_DISABLED)
		states_set(im, ts, track, NULL_U32, &im->args);
}
