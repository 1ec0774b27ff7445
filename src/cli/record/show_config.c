/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/record/show_config.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "analyze/name_list.h"
#include "base/core/mem.h"
#include "base/system/fs.h"
#include "base/text/str.h"
#include "cli/record/record_config.h"
#include "cli/terminal/verb.h"
#include "config/text.h"
#include "config/text_field.h"

#define OWN_FIELDS 20000 /* the first number of fields that Perfetto does not have */

/* Adds the names of set fields from OWN_FIELDS on, of a message and the messages in it. */
static void find_own_fields(const ProtobufCMessage *m, struct name_list *ret)
{
	for (unsigned i = 0; i < m->descriptor->n_fields; i++) {
		const ProtobufCFieldDescriptor *f = &m->descriptor->fields[i];
		size_t n = text_field_count(m, f);

		if (n && f->id >= OWN_FIELDS)
			name_list_add(ret, (const uint8_t *)f->name, strlen(f->name));
		for (size_t k = 0; k < n && f->type == PROTOBUF_C_TYPE_MESSAGE; k++)
			find_own_fields(*(ProtobufCMessage *const *)text_field_get(m, f, k), ret);
	}
}

static void put_comments(const struct record_command *c, struct strbuf *out)
{
	struct name_list own = {0};

	find_own_fields(&c->config->base, &own);
	if (own.n) {
		strbuf_puts(out, "# Fields of sonda that perfetto --txt refuses, and perfetto "
				 "skips in --show-config=binary:\n#");
		for (size_t i = 0; i < own.n; i++)
			strbuf_printf(out, "%s %s", i ? "," : "", own.names[i]);
		strbuf_putc(out, '\n');
	}
	name_list_deinit(&own);
	if (c->options.command && !c->options.all && !c->options.config && !c->options.pids.n)
		strbuf_puts(out, "# Not here: tids_to_trace, the command's, which sonda record "
				 "adds when it starts the command.\n");
}

static int put_binary(const Pb__TraceConfig *config, struct strbuf *out)
{
	_cleanup_(freep) uint8_t *bytes = NULL;
	size_t len;
	int r = record_config_pack(config, &bytes, &len);

	if (!r)
		strbuf_add(out, bytes, len);
	return r;
}

int record_show_config(struct record_command *c)
{
	struct strbuf out = {0};
	int r = 0;

	if (record_options_stream(&c->options))
		record_config_stream(c->config, c->options.max_bytes);
	if (c->options.show_binary) {
		r = put_binary(c->config, &out);
	} else {
		put_comments(c, &out);
		text_print(&c->config->base, &out);
	}
	if (!r)
		r = out.failed ? -ENOMEM : fs_write_all(STDOUT_FILENO, out.s, out.len);
	strbuf_deinit(&out);
	if (r)
		console_error(&c->console, "cannot write the config: %s", strerror(-r));
	return r ? EXIT_FAILED : EXIT_GOOD;
}
