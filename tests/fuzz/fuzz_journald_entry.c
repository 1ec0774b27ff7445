/* SPDX-License-Identifier: Apache-2.0 */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "procfs/machine/journald_reader.c"
#include "procfs/machine/journald_triggers.h"
#include "wire/pb_dec.h"
#include "wire/pb_enc.h"

/*
 * The fields of one line of the journal, a line each; what comes out must be a message in which no
 * field comes twice. The same fields may activate triggers.
 */

static struct journald_triggers *make_triggers(void)
{
	Pb__SystemdJournaldConfig__Trigger message = PB__SYSTEMD_JOURNALD_CONFIG__TRIGGER__INIT,
					   unit = message;
	Pb__SystemdJournaldConfig__Trigger *list[] = {&message, &unit};
	Pb__SystemdJournaldConfig config = PB__SYSTEMD_JOURNALD_CONFIG__INIT;
	struct journald_triggers *t = NULL;
	struct strbuf errors = {0};

	message.name = unit.name = (char *)"x";
	message.message = (char *)"(a|b)*c|[0-9]{2,5}$";
	unit.unit = (char *)"*.service";
	unit.has_unit_failed = unit.unit_failed = true;
	config.triggers = list;
	config.n_triggers = 2;
	if (journald_triggers_new(&config, &errors, &t) < 0 || !t)
		abort();
	return t;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct journald_entry entry = {0};
	const uint8_t *end = data + size;
	struct pb_field f;
	struct pb_dec d;
	struct pb_mem m;
	static struct journald_triggers *triggers;
	static uint64_t now;
	const char *const *names;
	uint32_t seen = 0;

	if (!triggers)
		triggers = make_triggers();

	if (pb_mem_init(&m) < 0)
		return 0;
	for (const uint8_t *p = data; p < end;) {
		const uint8_t *nl = memchr(p, '\n', (size_t)(end - p));
		const uint8_t *to = nl ? nl : end;

		journald_entry_add(&entry, &m.enc, p, (size_t)(to - p));
		journald_triggers_add_field(triggers, p, (size_t)(to - p));
		p = nl ? nl + 1 : end;
	}
	if (journald_triggers_end_entry(triggers, ++now, &names) > 2)
		abort();
	pb_dec_init(&d, m.buf, pb_mem_len(&m));
	while (pb_dec_next(&d, &f)) {
		if (f.id == 0 || f.id > 12 || seen & 1u << f.id)
			abort();
		seen |= 1u << f.id;
	}
	if (!pb_dec_ok(&d) || m.enc.depth != 0)
		abort();
	pb_mem_deinit(&m);
	return 0;
}
