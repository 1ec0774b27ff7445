/* SPDX-License-Identifier: Apache-2.0 */
/* The light flags become the text of a config, which is then read as any other. */

#include "cli/perfetto/perfetto_config.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

#include "base/core/mem.h"
#include "base/system/fs.h"
#include "config/text.h"
#include "config/trace_config.h"

struct unit {
	const char *name;
	uint64_t factor;
};

static const struct unit times[] = {
	{"ms", 1}, {"s", 1000}, {"m", 60000}, {"h", 3600000}, {NULL, 0}};
static const struct unit sizes[] = {{"k", 1},	    {"kb", 1},	     {"m", 1024}, {"mb", 1024},
				    {"g", 1048576}, {"gb", 1048576}, {NULL, 0}};

/* Parses "10s". A number needs a unit, unless it is 0. */
static bool parse_number_with_unit(const char *text, const struct unit *units, uint64_t *ret)
{
	char *end;
	uint64_t n;

	if (!isdigit((unsigned char)*text))
		return false;
	n = strtoull(text, &end, 10);
	*ret = 0;
	if (n == 0 && !*end)
		return true;
	for (; units->name; units++)
		if (!strcmp(units->name, end)) {
			*ret = n * units->factor;
			return true;
		}
	return false;
}

static bool parse_flag(const char *flag, const char *text, const struct unit *units, uint64_t *ret)
{
	if (!text || parse_number_with_unit(text, units, ret))
		return true;
	perfetto_say("%s argument is invalid", flag);
	return false;
}

/* Appends name: "text". */
static void put_string_field(struct strbuf *b, const char *name, const char *text)
{
	strbuf_printf(b, " %s: \"", name);
	for (; *text; text++) {
		if (strchr("\\\"\n", *text))
			strbuf_putc(b, '\\');
		strbuf_putc(b, *text == '\n' ? 'n' : *text);
	}
	strbuf_puts(b, "\"");
}

static bool is_hypervisor(const char *word)
{
	return !strcmp(word, "hyp") || !strcmp(word, "hypervisor");
}

static void put_ftrace(const struct perfetto_options *o, struct strbuf *b)
{
	bool any = o->apps.n;

	for (size_t i = 0; i < o->words.n; i++)
		any = any || !is_hypervisor(o->words.names[i]);
	if (any)
		strbuf_puts(b, "data_sources { config { name: \"linux.ftrace\" ftrace_config { "
			       "symbolize_ksyms: true");
	for (size_t i = 0; i < o->words.n; i++)
		if (!is_hypervisor(o->words.names[i]))
			put_string_field(b,
					 strchr(o->words.names[i], '/') ? "ftrace_events"
									: "atrace_categories",
					 o->words.names[i]);
	for (size_t i = 0; i < o->apps.n; i++)
		put_string_field(b, "atrace_apps", o->apps.names[i]);
	if (any)
		strbuf_puts(b, " } } }\n");
}

/* Appends the data sources of the words that have one of their own. */
static void put_words(const struct perfetto_options *o, struct strbuf *b)
{
	for (size_t i = 0; i < o->words.n; i++) {
		const char *word = o->words.names[i];

		if (is_hypervisor(word))
			strbuf_printf(
				b,
				"data_sources { config { name: \"linux.ftrace\" ftrace_config "
				"{ instance_name: \"%s\" ftrace_events: \"%s/*\" } } }\n",
				word, word);
		else if (!strcmp(word, "gfx"))
			strbuf_puts(b, "data_sources { config { name: "
				       "\"android.surfaceflinger.frametimeline\" } }\n");
		else if (!strcmp(word, "disk"))
			strbuf_puts(b, "data_sources { config { name: \"linux.sys_stats\" "
				       "sys_stats_config { diskstat_period_ms: 1000 } } }\n");
	}
}

static bool put_shorthand_config(const struct perfetto_options *o, struct strbuf *b)
{
	uint64_t ms = 10000, buffer_kb = 32768, file_kb = 0;

	if (!parse_flag("--time", o->time, times, &ms) ||
	    !parse_flag("--buffer", o->buffer, sizes, &buffer_kb) ||
	    !parse_flag("--size", o->size, sizes, &file_kb))
		return false;
	strbuf_printf(b,
		      "buffers { size_kb: %" PRIu64 " }\nduration_ms: %" PRIu64
		      "\nflush_period_ms: 30000\nmax_file_size_bytes: %" PRIu64 "\n",
		      buffer_kb, ms, file_kb << 10);
	if (o->size)
		strbuf_puts(b, "write_into_file: true\n");
	put_ftrace(o, b);
	strbuf_puts(b,
		    "data_sources { config { name: \"linux.process_stats\" target_buffer: 0 } }\n"
		    "data_sources { config { name: \"linux.system_info\" target_buffer: 0 } }\n");
	put_words(o, b);
	return true;
}

/* ---- what the command line adds ---- */

static int64_t random_number(void)
{
	int64_t n = 0;

	if (getrandom(&n, sizeof(n), 0) != sizeof(n))
		n = (int64_t)getpid();
	return n;
}

/* Appends, as the text of a config, what the command line adds to c. */
static void put_extras(const struct perfetto_options *o, const Pb__TraceConfig *c, struct strbuf *b)
{
	if (!c->trace_uuid_msb && !c->trace_uuid_lsb)
		strbuf_printf(b, "trace_uuid_msb: %" PRId64 " trace_uuid_lsb: %" PRId64 "\n",
			      (random_number() & ~INT64_C(0xf000)) | 0x4000,
			      (int64_t)(((uint64_t)random_number() & ~(UINT64_C(3) << 62)) |
					UINT64_C(1) << 63));
	strbuf_printf(b, "statsd_logging: STATSD_LOGGING_DISABLED\nstatsd_metadata {");
	if (o->alert_id)
		strbuf_printf(b, " triggering_alert_id: %" PRId64, o->alert_id);
	if (o->config_uid)
		strbuf_printf(b, " triggering_config_uid: %" PRId64, o->config_uid);
	if (o->config_id)
		strbuf_printf(b, " triggering_config_id: %" PRId64, o->config_id);
	if (o->subscription_id)
		strbuf_printf(b, " triggering_subscription_id: %" PRId64, o->subscription_id);
	strbuf_puts(b, " }\n");
	if (o->notes.n)
		strbuf_puts(b, "trace_attributes {");
	for (size_t i = 0; i < o->notes.n; i++) {
		const char *note = o->notes.names[i], *equals = strchrnul(note, '=');
		_cleanup_(freep) char *key = strndup(note, (size_t)(equals - note));

		strbuf_puts(b, " attribute {");
		put_string_field(b, "key", key ? key : "");
		put_string_field(b, "string_value", *equals ? equals + 1 : "");
		strbuf_puts(b, " }");
	}
	if (o->notes.n)
		strbuf_puts(b, " }\n");
}

/* Merges the extras into *config: protobuf parses two serialized messages in a row as one message,
 * with the fields of both. */
static int perfetto_config_add_extras(const struct perfetto_options *o, Pb__TraceConfig **config)
{
	struct strbuf text = {0}, errors = {0}, bytes = {0};
	Pb__TraceConfig *extras = NULL, *whole = NULL;
	size_t n;
	char *to;
	int r;

	put_extras(o, *config, &text);
	r = text.failed ? -ENOMEM
			: trace_config_load("extras", text.s, text.len, TRACE_CONFIG_TEXT, &errors,
					    &extras);
	if (!r) {
		n = pb__trace_config__get_packed_size(*config);
		to = strbuf_reserve(&bytes, n + pb__trace_config__get_packed_size(extras));
		if (to) {
			n = pb__trace_config__pack(*config, (uint8_t *)to);
			n += pb__trace_config__pack(extras, (uint8_t *)to + n);
			whole = pb__trace_config__unpack(NULL, n, (uint8_t *)to);
		}
		pb__trace_config__free_unpacked(extras, NULL);
	}
	if (whole) {
		pb__trace_config__free_unpacked(*config, NULL);
		*config = whole;
	}
	strbuf_deinit(&text);
	strbuf_deinit(&errors);
	strbuf_deinit(&bytes);
	return whole ? 0 : -ENOMEM;
}

static int report_invalid_config(void)
{
	perfetto_say("The trace config is invalid, bailing out.");
	return 1;
}

/* Reads the config of -c. Returns -1 or the exit code. */
static int load_config(const struct perfetto_options *o, Pb__TraceConfig **ret)
{
	const struct strbuf *text = &o->config_text;
	bool is_text = o->text || o->lossy_text || *o->config == ':';
	struct strbuf errors = {0};
	int code = -1;

	if (!is_text && text_looks_like(text->s, text->len)) {
		code = report_invalid_config();
		perfetto_say("Looks like you are passing a textual config but I'm expecting a "
			     "proto-encoded binary config.");
		perfetto_say("Try adding --txt to the cmdline.");
	} else if (trace_config_load(o->config, text->s, text->len,
				     o->lossy_text ? TRACE_CONFIG_TEXT_LOSSY
				     : is_text	   ? TRACE_CONFIG_TEXT
						   : TRACE_CONFIG_DETECT,
				     &errors, ret)) {
		fputs(errors.s ? errors.s : "", stderr);
		code = report_invalid_config();
	}
	strbuf_deinit(&errors);
	return code;
}

/* Makes the config of the light flags. Returns -1 or the exit code. */
static int load_shorthand(const struct perfetto_options *o, Pb__TraceConfig **ret)
{
	struct strbuf text = {0}, errors = {0};
	int code = -1;

	if (!put_shorthand_config(o, &text) ||
	    trace_config_load("flags", text.s, text.len, TRACE_CONFIG_TEXT, &errors, ret)) {
		fputs(errors.s ? errors.s : "", stderr);
		code = report_invalid_config();
	}
	strbuf_deinit(&text);
	strbuf_deinit(&errors);
	return code;
}

int perfetto_config_make(const struct perfetto_options *o, Pb__TraceConfig **ret)
{
	int code;

	if (o->config_text.len) {
		code = load_config(o, ret);
	} else if (perfetto_has_shorthand(o)) {
		code = load_shorthand(o, ret);
	} else {
		perfetto_say("The TraceConfig is empty");
		return 1;
	}
	if (code < 0 && perfetto_config_add_extras(o, ret)) {
		pb__trace_config__free_unpacked(TAKE_PTR(*ret), NULL);
		code = report_invalid_config();
	}
	return code;
}
