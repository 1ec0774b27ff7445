/* SPDX-License-Identifier: Apache-2.0 */
#include "import/file/trace_facts.h"

#include "base/core/mem.h"
#include "gen/fields.h"

#define CLOCK_BOOTTIME_ID 6 /* of BuiltinClock */

static void put_text(struct pb_enc *e, uint32_t field, const char *text)
{
	char plain[256];

	if (!*text)
		return;
	import_copy_text(plain, sizeof(plain), text);
	pb_enc_str(e, field, plain);
}

void trace_facts_put_machine(struct trace_sequence *s, const struct recorded_machine *m)
{
	struct pb_enc *e = trace_sequence_begin(s);

	pb_enc_open(e, PB_TRACE_PACKET_SYSTEM_INFO);
	pb_enc_open(e, PB_SYSTEM_INFO_UTSNAME);
	put_text(e, PB_UTSNAME_SYSNAME, m->sysname);
	put_text(e, PB_UTSNAME_VERSION, m->version);
	put_text(e, PB_UTSNAME_RELEASE, m->release);
	put_text(e, PB_UTSNAME_MACHINE, m->machine);
	pb_enc_close(e);
	if (m->n_cpus)
		pb_enc_u64(e, PB_SYSTEM_INFO_NUM_CPUS, m->n_cpus);
	pb_enc_close(e);
	trace_sequence_end(s);
}

static void put_clock(struct pb_enc *e, uint32_t clock, uint64_t ns)
{
	pb_enc_open(e, PB_CLOCK_SNAPSHOT_CLOCKS);
	pb_enc_u64(e, PB_CLOCK_SNAPSHOT_CLOCK_CLOCK_ID, clock);
	pb_enc_u64(e, PB_CLOCK_SNAPSHOT_CLOCK_TIMESTAMP, ns);
	pb_enc_close(e);
}

void trace_facts_put_clocks(struct trace_sequence *s, uint64_t boot_ns, uint32_t clock,
			    uint64_t clock_ns)
{
	struct pb_enc *e = trace_sequence_begin(s);

	pb_enc_open(e, PB_TRACE_PACKET_CLOCK_SNAPSHOT);
	put_clock(e, CLOCK_BOOTTIME_ID, boot_ns);
	if (clock)
		put_clock(e, clock, clock_ns);
	pb_enc_u64(e, PB_CLOCK_SNAPSHOT_PRIMARY_TRACE_CLOCK, CLOCK_BOOTTIME_ID);
	pb_enc_close(e);
	trace_sequence_end(s);
}

void trace_facts_put_result(struct trace_sequence *s, const struct import_result *r)
{
	struct pb_enc *e = trace_sequence_begin(s);

	pb_enc_open(e, PB_TRACE_PACKET_IMPORTED_RECORDING);
	put_text(e, PB_IMPORTED_RECORDING_FORMAT, r->format);
	put_text(e, PB_IMPORTED_RECORDING_RECORDER, r->recorder);
	put_text(e, PB_IMPORTED_RECORDING_CLOCK, r->clock);
	pb_enc_u64(e, PB_IMPORTED_RECORDING_EVENTS, r->n_events);
	pb_enc_u64(e, PB_IMPORTED_RECORDING_SAMPLES, r->n_samples);
	pb_enc_u64(e, PB_IMPORTED_RECORDING_LOST, r->n_lost);
	pb_enc_u64(e, PB_IMPORTED_RECORDING_UNREAD, r->n_unread);
	for (uint32_t i = 0; i < MIN(r->n_notes, (uint32_t)IMPORT_NOTES); i++)
		put_text(e, PB_IMPORTED_RECORDING_NOTES, r->notes[i]);
	pb_enc_close(e);
	trace_sequence_end(s);
}
