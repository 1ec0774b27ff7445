/* SPDX-License-Identifier: Apache-2.0 */
#include "client/counters/thread_slices.h"

#include "base/core/process_uuid.h"
#include "base/system/process_uuids.h"
#include "client/transport/writer.h"
#include "gen/fields.h"

#define MERGE_NONE 2 /* TrackDescriptor.SiblingMergeBehavior */
/* Odd, so that threads with different uuids have different tracks. */
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
	uint64_t thread = thread_slices_thread(pid, tid);
	struct pb_enc *e = writer_begin(w);

	pb_enc_u64(e, PB_TRACE_PACKET_TIMESTAMP, ns);
	pb_enc_open(e, PB_TRACE_PACKET_TRACK_DESCRIPTOR);
	pb_enc_u64(e, PB_TRACK_DESCRIPTOR_UUID, thread);
	pb_enc_u64(e, PB_TRACK_DESCRIPTOR_PARENT_UUID, process_uuids_get((int32_t)pid));
	pb_enc_open(e, PB_TRACK_DESCRIPTOR_THREAD);
	pb_enc_i64(e, PB_THREAD_DESCRIPTOR_PID, pid);
	pb_enc_i64(e, PB_THREAD_DESCRIPTOR_TID, tid);
	if (comm)
		pb_enc_str(e, PB_THREAD_DESCRIPTOR_THREAD_NAME, comm);
	pb_enc_close(e);
	pb_enc_close(e);
	writer_end(w);
	e = writer_begin(w);
	pb_enc_u64(e, PB_TRACE_PACKET_TIMESTAMP, ns);
	pb_enc_open(e, PB_TRACE_PACKET_TRACK_DESCRIPTOR);
	pb_enc_u64(e, PB_TRACK_DESCRIPTOR_UUID, thread_slices_track(source, pid, tid));
	pb_enc_u64(e, PB_TRACK_DESCRIPTOR_PARENT_UUID, thread);
	pb_enc_str(e, PB_TRACK_DESCRIPTOR_NAME, name);
	pb_enc_u64(e, PB_TRACK_DESCRIPTOR_SIBLING_MERGE_BEHAVIOR, MERGE_NONE);
	pb_enc_close(e);
	writer_end(w);
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
