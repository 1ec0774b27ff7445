/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <event2/event.h>

#include "unit/message_text.h"
#include "unit/procfs/fake_producer.h"

/* One instance of a data source with the producer of fake_producer.h, and its packets as text. */

/* All packets of a writer, a line each, in memory that the next call overwrites. */
static inline const char *packets_of(unsigned writer)
{
	static struct strbuf text;

	strbuf_clear(&text);
	strbuf_puts(&text, "");
	for (size_t i = 0; i < fake.n; i++)
		if (fake.packets[i].writer == writer)
			strbuf_printf(&text, "%s\n",
				      message_text("TracePacket", fake.packets[i].data,
						   fake.packets[i].len));
	return text.s;
}

static inline void assert_part(const char *text, const char *part, bool is_there, const char *file,
			       int line)
{
	if (!strstr(text, part) != is_there)
		return;
	fprintf(stderr, "%s%s in\n%s\n", is_there ? "no " : "", part, text);
	_fail(file, line);
}

#define assert_has(text, part) assert_part(text, part, true, __FILE__, __LINE__)
#define assert_has_not(text, part) assert_part(text, part, false, __FILE__, __LINE__)

/* ---- one instance of a source ---- */

static struct ds_env env; /* the test sets the rest of it */
static void *instance;

static inline void source_start(const struct data_source *s, Pb__DataSourceConfig config)
{
	assert_int_equal(s->create(NULL, &env, &config, &instance), 0);
	s->start(instance);
	assert_int_equal(fake.started, 1);
}

/* Returns what was written until the flush was answered. settle: what the test does between turns of
 * the loop; NULL: nothing. */
static inline const char *source_flush(const struct data_source *s, void (*settle)(void))
{
	static uint64_t id;
	unsigned before = fake.flushed;

	s->flush(instance, ++id);
	while (fake.flushed == before)
		settle ? settle() : (void)event_base_loop(env.loop, EVLOOP_ONCE);
	assert_int_equal(fake.last_flush_id, id);
	return packets_of(0);
}

static inline const char *source_stop(const struct data_source *s, void (*settle)(void))
{
	s->stop(instance);
	while (!fake.stopped)
		settle ? settle() : (void)event_base_loop(env.loop, EVLOOP_ONCE);
	return packets_of(0);
}

static inline void source_end(const struct data_source *s)
{
	s->destroy(instance);
	instance = NULL;
	assert_int_equal(fake.live, 0);
	event_base_free(env.loop);
	fake_reset();
}
