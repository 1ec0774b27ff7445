/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/host/host_stream.h"

#include <endian.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/core/mem.h"

#define READ_SIZE (128u << 10)
#define ARGS_MAX 4096

/* ---- frames ---- */

ssize_t host_frame_decode(const uint8_t *bytes, size_t len, struct host_frame *ret)
{
	uint32_t size;

	if (len < HOST_FRAME_HEAD)
		return 0;
	memcpy(&size, bytes + 1, sizeof(size));
	size = le32toh(size);
	if (size > HOST_FRAME_MAX)
		return -EBADMSG;
	if (len - HOST_FRAME_HEAD < size)
		return 0;
	*ret = (struct host_frame){bytes[0], bytes + HOST_FRAME_HEAD, size};
	return (ssize_t)(HOST_FRAME_HEAD + size);
}

void host_frame_put(struct strbuf *to, enum host_frame_type type, const void *data, size_t len)
{
	uint32_t size = htole32((uint32_t)len);

	strbuf_putc(to, (char)type);
	strbuf_add(to, &size, sizeof(size));
	if (len)
		strbuf_add(to, data, len);
}

void host_frame_put_u32(struct strbuf *to, enum host_frame_type type, const uint32_t *v, size_t n)
{
	uint32_t bytes[2];

	for (size_t i = 0; i < n; i++)
		bytes[i] = htole32(v[i]);
	host_frame_put(to, type, bytes, n * sizeof(*bytes));
}

void host_frame_put_u64(struct strbuf *to, enum host_frame_type type, const uint64_t *v, size_t n)
{
	uint64_t bytes[3];

	for (size_t i = 0; i < n; i++)
		bytes[i] = htole64(v[i]);
	host_frame_put(to, type, bytes, n * sizeof(*bytes));
}

bool host_frame_u32(const struct host_frame *f, uint32_t *ret_v, size_t n)
{
	if (f->len != n * sizeof(*ret_v))
		return false;
	memcpy(ret_v, f->data, f->len);
	for (size_t i = 0; i < n; i++)
		ret_v[i] = le32toh(ret_v[i]);
	return true;
}

bool host_frame_u64(const struct host_frame *f, uint64_t *ret_v, size_t n)
{
	if (f->len != n * sizeof(*ret_v))
		return false;
	memcpy(ret_v, f->data, f->len);
	for (size_t i = 0; i < n; i++)
		ret_v[i] = le64toh(ret_v[i]);
	return true;
}

/* ---- the request ---- */

/*
 *	byte    0  1: one of several machines
 *	        1  1: colours
 *	        2  1: a config follows
 *	        3  strings, each with its 0: the number of arguments as text, the arguments, the output
 *	           the config
 */

#define FLAGS 3

int host_request_put(struct strbuf *to, const struct host_request *r)
{
	struct strbuf b = {0};
	int error = 0;

	strbuf_putc(&b, r->is_one_of_several);
	strbuf_putc(&b, r->has_color);
	strbuf_putc(&b, r->has_config);
	strbuf_printf(&b, "%d", r->argc);
	strbuf_putc(&b, '\0');
	for (int i = 0; i < r->argc; i++)
		strbuf_add(&b, r->argv[i], strlen(r->argv[i]) + 1);
	strbuf_add(&b, r->output, strlen(r->output) + 1);
	if (r->config_len)
		strbuf_add(&b, r->config, r->config_len);
	if (b.len > HOST_FRAME_MAX || r->argc > ARGS_MAX)
		error = -E2BIG;
	else if (b.failed)
		to->failed = true;
	else
		host_frame_put(to, HOST_REQUEST, b.s, b.len);
	strbuf_deinit(&b);
	return error;
}

/* Returns the string at *at, and moves *at behind its 0; NULL if there is none. */
static const char *request_string(const uint8_t **at, const uint8_t *end)
{
	const uint8_t *text = *at, *zero = memchr(text, 0, (size_t)(end - text));

	if (!zero)
		return NULL;
	*at = zero + 1;
	return (const char *)text;
}

int host_request_decode(const uint8_t *data, size_t len, struct host_request *ret)
{
	const uint8_t *at = data + FLAGS, *end = data + len;
	_cleanup_(freep) char **argv = NULL;
	const char *text;
	uint32_t n = 0;

	if (len < FLAGS || data[0] > 1 || data[1] > 1 || data[2] > 1)
		return -EBADMSG;
	text = request_string(&at, end);
	if (!text || str_to_u32(text, &n) || n < 1 || n > ARGS_MAX)
		return -EBADMSG;
	argv = calloc(n + 1, sizeof(*argv));
	if (!argv)
		return -ENOMEM;
	for (uint32_t i = 0; i < n; i++) {
		argv[i] = (char *)request_string(&at, end);
		if (!argv[i])
			return -EBADMSG;
	}
	text = request_string(&at, end);
	if (!text || (at < end && !data[2]))
		return -EBADMSG;
	*ret = (struct host_request){
		.argv = TAKE_PTR(argv),
		.argc = (int)n,
		.output = text,
		.is_one_of_several = data[0],
		.has_color = data[1],
		.has_config = data[2],
		.config = (const char *)at,
		.config_len = (size_t)(end - at),
	};
	return 0;
}

/* ---- the connection ---- */

void host_stream_deinit(struct host_stream *s)
{
	strbuf_deinit(&s->received);
	strbuf_deinit(&s->to_send);
}

int host_stream_receive(struct host_stream *s)
{
	struct strbuf *b = &s->received;
	char *room;
	ssize_t n;

	if (s->used) {
		memmove(b->s, b->s + s->used, b->len - s->used);
		b->len -= s->used;
		s->used = 0;
	}
	room = strbuf_reserve(b, READ_SIZE);
	if (!room)
		return -ENOMEM;
	n = read(s->in, room, READ_SIZE);
	if (n < 0)
		return errno == EAGAIN || errno == EINTR ? 1 : -errno;
	b->len += (size_t)n;
	return n > 0;
}

int host_stream_send(struct host_stream *s)
{
	struct strbuf *b = &s->to_send;

	if (b->failed)
		return -ENOMEM;
	while (s->sent < b->len) {
		ssize_t n = write(s->out, b->s + s->sent, b->len - s->sent);

		if (n < 0 && errno == EAGAIN)
			break;
		if (n < 0 && errno != EINTR)
			return -errno;
		s->sent += (size_t)MAX(n, 0);
	}
	if (s->sent == b->len) {
		strbuf_clear(b);
		s->sent = 0;
	} else if (s->sent >= b->len / 2) {
		memmove(b->s, b->s + s->sent, b->len - s->sent);
		b->len -= s->sent;
		s->sent = 0;
	}
	return 0;
}

int host_stream_next_frame(struct host_stream *s, struct host_frame *ret)
{
	const uint8_t *bytes = (const uint8_t *)s->received.s;
	ssize_t n;

	if (!s->received.len)
		return 0;
	n = host_frame_decode(bytes + s->used, s->received.len - s->used, ret);
	if (n <= 0)
		return (int)n;
	s->used += (size_t)n;
	return 1;
}

const char *host_stream_next_line(struct host_stream *s)
{
	char *line, *end;

	if (!s->received.len)
		return NULL;
	line = s->received.s + s->used;
	end = memchr(line, '\n', s->received.len - s->used);
	if (!end)
		return NULL;
	*end = '\0';
	s->used += (size_t)(end - line) + 1;
	return line;
}
