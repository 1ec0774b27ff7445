/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "unit/ftrace/fake_writer.h"
#include "unit/message_text.h"

/* The packets of a fake writer's trace as text, a line a packet, until the next call. */
static inline const char *packets_text(const struct writer *w)
{
	static struct strbuf text;
	struct pb_field packet;
	struct pb_dec d;

	strbuf_clear(&text);
	strbuf_puts(&text, "");
	pb_dec_init(&d, w->begin, fake_writer_len(w));
	while (pb_dec_next(&d, &packet)) {
		message_print(&text, "TracePacket", packet.data, packet.len);
		strbuf_putc(&text, '\n');
	}
	assert_true(pb_dec_ok(&d) && !text.failed);
	return text.s;
}

/* How often the packets have that text: "phase: 1", a field with its value. */
static inline unsigned packets_count(const struct writer *w, const char *part)
{
	unsigned n = 0;

	for (const char *at = packets_text(w); (at = strstr(at, part)); at++)
		n++;
	return n;
}
