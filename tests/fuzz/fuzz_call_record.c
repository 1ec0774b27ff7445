/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Records of the BPF programs of linux.syscalls, one after another, of any bytes: 2 bytes of size,
 * then a record. The texts of arguments must be printable ASCII, whatever their bytes.
 */
#include "ebpf/calls/calls_packets.c"

#include "unit/../unit/procfs/fake_producer.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

bool writer_has_lost(const struct writer *w)
{
	return w == NULL;
}

static void check_annotation(struct pb_field annotation)
{
	struct pb_field text;

	if (!fake_field(annotation.data, annotation.len, PB_DEBUG_ANNOTATION_STRING_VALUE, 0,
			&text))
		return;
	for (size_t i = 0; i < text.len; i++)
		if (text.data[i] < ' ' || text.data[i] > '~')
			abort();
}

static void check_texts(void)
{
	struct pb_field event, annotation;

	for (size_t i = 0; i < fake.n; i++) {
		struct pb_field p = fake_packet_field(i);

		if (!fake_field(p.data, p.len, PB_TRACE_PACKET_TRACK_EVENT, 0, &event))
			continue;
		for (unsigned n = 0; fake_field(event.data, event.len,
						PB_TRACK_EVENT_DEBUG_ANNOTATIONS, n, &annotation);
		     n++)
			check_annotation(annotation);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct calls_session *s = calloc(1, sizeof(*s));
	uint16_t record;

	fake_reset();
	if (!s)
		abort();
	s->writer = writer_new(NULL, 1, WRITER_DROP);
	for (uint32_t i = 0; i < n_call_rows; i++) {
		int number = syscall_number(call_rows[i].name, false);

		if (number >= 0 && number < CALLS_NUMBERS)
			s->rows[number] = &call_rows[i];
	}
	for (; size >= sizeof(record); data += record, size -= record) {
		memcpy(&record, data, sizeof(record));
		data += sizeof(record);
		size -= sizeof(record);
		record = (uint16_t)MIN(record, size);
		calls_packets_add_record(s, data, record);
	}
	check_texts();
	calls_packets_free_threads(s);
	strbuf_deinit(&s->text);
	free(s->tids);
	writer_free(s->writer);
	free(s);
	return 0;
}
