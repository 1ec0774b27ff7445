/* SPDX-License-Identifier: Apache-2.0 */
#include "ebpf/tracks/histogram_rows.h"

#include "client/transport/writer.h"
#include "gen/fields.h"

void histogram_rows_write(const struct ebpf_run *r, const struct histogram_rows *rows, uint64_t at)
{
	struct pb_enc *e;

	if (!r->histogram_rows || !rows->n)
		return;
	tracks_end(r->tracks);
	e = writer_begin(r->writer);
	pb_enc_u64(e, PB_TRACE_PACKET_TIMESTAMP, at);
	pb_enc_open(e, PB_TRACE_PACKET_EBPF_HISTOGRAM_ROWS);
	pb_enc_str(e, PB_EBPF_HISTOGRAM_ROWS_FAMILY, r->family->name);
	if (rows->device)
		pb_enc_str(e, PB_EBPF_HISTOGRAM_ROWS_DEVICE, rows->device);
	if (rows->operation)
		pb_enc_str(e, PB_EBPF_HISTOGRAM_ROWS_OPERATION, rows->operation);
	pb_enc_u64(e, PB_EBPF_HISTOGRAM_ROWS_SUM_NS, rows->sum_ns);
	pb_enc_open(e, PB_EBPF_HISTOGRAM_ROWS_ROWS);
	for (uint32_t i = 0; i < SONDA_HIST_BUCKETS; i++) {
		if (!rows->added->buckets[i])
			continue;
		pb_enc_packed_varint(e, i);
		pb_enc_packed_varint(e, rows->added->buckets[i]);
	}
	pb_enc_close(e);
	pb_enc_close(e);
	writer_end(r->writer);
}
