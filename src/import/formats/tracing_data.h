/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "ftrace/events/event_table.h"
#include "ftrace/format/ring_page.h"
#include "import/file/byte_reader.h"
#include "import/file/import_result.h"
#include "symbols/symbol_table.h"

/*
 * The recorded machine's descriptions of its events, as trace.dat and perf.data have them: one
 * after another, each as its length and the text of a file of tracefs.
 *
 *	header_page, header_event | formats of ftrace/ | formats of other groups | kallsyms |
 *	printk_formats | saved_cmdlines
 *
 * Format: trace-cmd.dat.v6(5), trace-cmd.dat.v7(5).
 */
#define TRACING_DATA_EVENTS_MAX 16384
#define TRACING_DATA_TEXT_MAX (256u << 20) /* bytes of one text */

struct tracing_event {
	char *group; /* owned */
	char *format; /* owned: the text of the format file */
};

struct tracing_data {
	char *header_page; /* owned, as are all texts; NULL: the file does not have it */
	struct tracing_event *events; /* owned */
	size_t n_events, events_cap;
	char *kallsyms, *printk_formats, *saved_cmdlines;
};

/* Frees what was read. A struct of zeros is empty. */
void tracing_data_deinit(struct tracing_data *d);

/* Each reads its part, and replaces what was read before. Return 0; -EBADMSG if the part is
 * malformed; or -ENOMEM. */
int tracing_data_read_header(struct tracing_data *d, struct byte_reader *r);
int tracing_data_read_ftrace_formats(struct tracing_data *d, struct byte_reader *r);
int tracing_data_read_formats(struct tracing_data *d, struct byte_reader *r);
int tracing_data_read_kallsyms(struct tracing_data *d, struct byte_reader *r);
int tracing_data_read_printk(struct tracing_data *d, struct byte_reader *r);
int tracing_data_read_cmdlines(struct tracing_data *d, struct byte_reader *r);

/* The first bytes of trace.dat, and of the descriptions in perf.data. */
struct tracing_head {
	char version[8];
	uint8_t is_big_endian;
	uint8_t long_size;
	uint32_t page_size;
};

/* Returns 0, or -EBADMSG. */
int tracing_head_read(struct byte_reader *r, struct tracing_head *ret);

/* Compiles the events into table, which is empty. symbols is set from kallsyms; it has no
 * functions if the file has none. Adds notes about events that cannot be decoded. Returns 0 or
 * -ENOMEM; the caller frees table and symbols in both cases. */
int tracing_data_compile(struct tracing_data *d, struct event_table *table,
			 struct symbol_table *symbols, struct import_result *result);

/* Reads the text of kallsyms; NULL: none. Returns 0 or -ENOMEM. */
int tracing_data_read_symbols(const char *kallsyms, struct symbol_table *ret);
