/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Files that the service wrote, taken apart. */

#include "gen/fields.h"
#include "unit/test.h"
#include "wire/pb_dec.h"

/* The packets of so many bytes of a trace file, which must be whole. */
static inline struct peer_packets packets_of(const uint8_t *data, size_t len)
{
	struct peer_packets t = {0};
	struct pb_field f;
	struct pb_dec d;

	pb_dec_init(&d, data, len);
	while (pb_dec_next(&d, &f)) {
		assert_int_equal(f.id, PB_TRACE_PACKET);
		t.list = realloc(t.list, (t.n + 1) * sizeof(*t.list));
		assert_non_null(t.list);
		t.list[t.n].data = malloc(f.len + 1);
		assert_non_null(t.list[t.n].data);
		memcpy(t.list[t.n].data, f.data, f.len);
		t.list[t.n++].len = f.len;
	}
	assert_true(pb_dec_ok(&d));
	return t;
}

static inline struct peer_packets packets_of_fd(int fd)
{
	size_t len = 0, cap = 1 << 20;
	uint8_t *data = malloc(cap);
	struct peer_packets t;
	ssize_t n;

	assert_non_null(data);
	while ((n = read(fd, data + len, cap - len)) > 0) {
		len += (size_t)n;
		if (len < cap)
			continue;
		data = realloc(data, cap *= 2);
		assert_non_null(data);
	}
	t = packets_of(data, len);
	free(data);
	return t;
}

static inline struct peer_packets packets_of_file(const char *path)
{
	int fd = open(path, O_RDONLY);
	struct peer_packets t;

	assert_true(fd >= 0);
	t = packets_of_fd(fd);
	close(fd);
	return t;
}

static inline off_t size_of_file(const char *path)
{
	struct stat st;

	assert_int_equal(stat(path, &st), 0);
	return st.st_size;
}

/* How many packets of the file carry this text. */
static inline unsigned count_in_file(const char *path, const char *text)
{
	struct peer_packets t = packets_of_file(path);
	unsigned n = peer_count_text(&t, text);

	peer_packets_free(&t);
	return n;
}
