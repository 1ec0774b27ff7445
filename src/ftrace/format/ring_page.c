/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A sub-buffer of the kernel's ring, as read from trace_pipe_raw:
 *
 *	| u64 time | commit | record | record | ... | [lost count] | zeros |
 *	                    |<------- commit's low 27 bits ------->|
 *
 *	commit   bits 0..26 length of the records, bit 31 records before this page were lost,
 *	         bit 30 their number follows the records
 *
 *	record   | type_len:5 time_delta:27 | ...
 *
 *	         1..28  payload of type_len words
 *	         0      u32 length, itself included, then the payload
 *	         29     padding: u32 length, itself included; a time_delta of 0 ends the page
 *	         30     time extend: u32, the delta's bits 27 and up
 *	         31     absolute time: u32, the bits 27 and up of 59 bits
 *
 * The bit-fields are those of a little-endian kernel; the reader runs on the same machine.
 */
#include <assert.h>
#include <errno.h>
#include <stdio.h>

#include "ftrace/format/ring_page.h"

_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "records are read as they lie");

#define COMMIT_LENGTH ((1u << 27) - 1)
#define COMMIT_LOST (1u << 31)
#define COMMIT_LOST_STORED (1u << 30)

enum { TYPE_LONG = 0, TYPE_PADDING = 29, TYPE_TIME_EXTEND = 30, TYPE_TIME_STAMP = 31 };

#define TIME_EXTEND_SHIFT 27
#define TIME_STAMP_BITS 59
#define TIME_STAMP_TOP (~0ull << TIME_STAMP_BITS)

/* Finds the line "\tfield: u64 timestamp;\toffset:0;\tsize:8;\tsigned:0;" by the field's name. */
static bool ring_page_find_field(const char *text, const char *name, unsigned *ret_offset,
				 unsigned *ret_size)
{
	size_t len = strlen(name);
	const char *p, *line = text;

	for (; line; line = (p = strchr(line, '\n')) ? p + 1 : NULL) {
		const char *semi = strchr(line, ';'), *eol = strchr(line, '\n');

		if (!semi || (eol && semi > eol) || (size_t)(semi - line) <= len)
			continue;
		p = semi - len;
		if (memcmp(p, name, len) || p[-1] != ' ')
			continue;
		if (sscanf(semi, "; offset:%u; size:%u;", ret_offset, ret_size) == 2)
			return true;
	}
	return false;
}

int ring_page_layout_parse(const char *header_page, struct ring_page_layout *ret)
{
	unsigned time, time_size, commit, commit_size, data, data_size;

	if (!ring_page_find_field(header_page, "timestamp", &time, &time_size) ||
	    !ring_page_find_field(header_page, "commit", &commit, &commit_size) ||
	    !ring_page_find_field(header_page, "data", &data, &data_size))
		return -EINVAL;
	if (time_size != 8 || (commit_size != 8 && commit_size != 4) || data > 256 ||
	    time + time_size > data || commit + commit_size > data || data_size < 64 ||
	    data_size > COMMIT_LENGTH)
		return -EINVAL;
	*ret = (struct ring_page_layout){
		.size = data + data_size,
		.time_offset = (uint16_t)time,
		.commit_offset = (uint16_t)commit,
		.commit_size = (uint16_t)commit_size,
		.data_offset = (uint16_t)data,
	};
	return 0;
}

enum ring_page_status ring_page_open(struct ring_page *page, const struct ring_page_layout *layout,
				     const void *data, size_t len)
{
	const uint8_t *bytes = data;
	uint32_t commit, records;

	*page = (struct ring_page){.cur = bytes, .end = bytes};
	if (len < layout->data_offset)
		return RING_PAGE_BAD_HEADER;
	memcpy(&page->time, bytes + layout->time_offset, sizeof(page->time));
	memcpy(&commit, bytes + layout->commit_offset, sizeof(commit));
	records = commit & COMMIT_LENGTH;
	page->lost = commit & COMMIT_LOST;
	if (records > len - layout->data_offset)
		return RING_PAGE_BAD_HEADER;

	page->cur = bytes + layout->data_offset;
	page->end = page->cur + records;
	if (page->lost && (commit & COMMIT_LOST_STORED) &&
	    len - layout->data_offset - records >= layout->commit_size)
		memcpy(&page->lost_count, page->end, layout->commit_size);
	return records ? RING_PAGE_OK : RING_PAGE_BAD_HEADER;
}

/* Adds the top bits that the timestamp lacks. They are those of the time before, plus one on
 * overflow. */
static uint64_t complete_time_stamp(uint64_t stamp, uint64_t before)
{
	if (!(before & TIME_STAMP_TOP))
		return stamp;
	stamp |= before & TIME_STAMP_TOP;
	return stamp < before ? stamp + (1ull << TIME_STAMP_BITS) : stamp;
}

static enum ring_page_status read_long_record(struct ring_page *page, uint32_t delta,
					      const uint32_t *word, size_t left,
					      struct ring_record *ret)
{
	if (!word)
		return RING_PAGE_SHORT_DATA_LENGTH;
	if (*word == 0)
		return RING_PAGE_ZERO_DATA_LENGTH;
	if (*word < sizeof(*word))
		return RING_PAGE_BAD_DATA_LENGTH;
	if (*word > left)
		return RING_PAGE_END_OVERFLOW;
	ret->len = *word - (uint32_t)sizeof(*word);
	if (ret->len < sizeof(uint16_t))
		return RING_PAGE_SHORT_EVENT_ID;
	page->time += delta;
	ret->time = page->time;
	ret->payload = page->cur + 2 * sizeof(*word);
	page->cur += sizeof(*word) + *word;
	return RING_PAGE_OK;
}

enum ring_page_status ring_page_next_rare(struct ring_page *page, uint32_t head,
					  struct ring_record *ret, bool *ret_skipped)
{
	size_t left = (size_t)(page->end - page->cur) - sizeof(head);
	uint32_t type = head & 31, delta = head >> 5, value = 0;
	const uint32_t *word = left >= sizeof(value) ? &value : NULL;
	size_t skip = sizeof(head) + sizeof(value);

	assert(type == TYPE_LONG || type > RING_PAGE_TYPE_MAX);
	if (word)
		memcpy(&value, page->cur + sizeof(head), sizeof(value));

	*ret_skipped = type != TYPE_LONG;
	switch (type) {
	case TYPE_LONG:
		return read_long_record(page, delta, word, left, ret);
	case TYPE_PADDING:
		if (!delta)
			return RING_PAGE_NULL_PADDING;
		if (!word)
			return RING_PAGE_SHORT_PADDING_LENGTH;
		if (value < sizeof(value) || value > left)
			return RING_PAGE_BAD_PADDING_LENGTH;
		page->time += delta;
		skip = sizeof(head) + value;
		break;
	case TYPE_TIME_EXTEND:
		if (!word)
			return RING_PAGE_SHORT_TIME_EXTEND;
		page->time += delta + ((uint64_t)value << TIME_EXTEND_SHIFT);
		break;
	case TYPE_TIME_STAMP:
		if (!word)
			return RING_PAGE_SHORT_TIME_STAMP;
		page->time = complete_time_stamp(delta + ((uint64_t)value << TIME_EXTEND_SHIFT),
						 page->time);
		break;
	}
	page->cur += skip;
	return RING_PAGE_OK;
}
