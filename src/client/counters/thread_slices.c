/* SPDX-License-Identifier: Apache-2.0 */
#include "client/counters/thread_slices.h"

#include "base/core/process_uuid.h"
#include "base/system/process_uuids.h"
#include "client/counters/track_packets.h"
#include "client/transport/writer.h"
#include "gen/fields.h"

/* The factor is odd, so that threads with different uuids have different tracks. */
#define SOURCE_FACTOR 0xd6e8feb86659fd93ull

static uint64_t thread_slices_thread(uint32_t pid, uint32_t tid)
{
	return thread_uuid_of(process_uuids_get((int32_t)pid), (int32_t)tid);
}

uint64_t thread_slices_track(enum thread_slices_source source, uint32_t pid, uint32_t tid)
{
	return thread_slices_thread(pid, tid) * SOURCE_FACTOR + source;
}

void thread_slices_describe(struct writer *w, uint64_t ns, enum thread_slices_source source,
			    const char *name, uint32_t pid, uint32_t tid, const char *comm)
{
	const struct track_spec process = {.kind = TRACK_PROCESS, .pid = (int32_t)pid},
				thread = {.kind = TRACK_THREAD,
					  .pid = (int32_t)pid,
					  .tid = (int32_t)tid,
					  .name = comm},
				slices = {.kind = TRACK_GROUP, .name = name};
	uint64_t process_uuid = process_uuids_get((int32_t)pid),
		 thread_uuid = thread_slices_thread(pid, tid);

	track_packet_descriptor(w, ns, &process, process_uuid, 0);
	track_packet_descriptor(w, ns, &thread, thread_uuid, process_uuid);
	track_packet_descriptor(w, ns, &slices, thread_slices_track(source, pid, tid), thread_uuid);
}

void thread_slices_put_annotation_names(struct pb_enc *e, const char *const *names, unsigned n)
{
	pb_enc_open(e, PB_TRACE_PACKET_INTERNED_DATA);
	for (unsigned i = 0; i < n; i++) {
		pb_enc_open(e, PB_INTERNED_DATA_DEBUG_ANNOTATION_NAMES);
		pb_enc_u64(e, PB_INTERNED_STRING_IID, i + 1);
		pb_enc_str(e, PB_INTERNED_STRING_STR, names[i]);
		pb_enc_close(e);
	}
	pb_enc_close(e);
}
