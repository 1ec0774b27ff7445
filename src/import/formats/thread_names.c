/* SPDX-License-Identifier: Apache-2.0 */
#include "import/formats/thread_names.h"

#include <string.h>

#include "base/text/number_read.h"
#include "gen/fields.h"
#include "import/file/import_result.h"

#define COMM_SIZE 16

/* Parses a line "TID COMM". Returns the tid, or 0 if the line is malformed. */
static int32_t parse_line(const char *line, char name[static COMM_SIZE])
{
	const char *end = line;
	char text[COMM_SIZE];
	uint64_t tid;
	size_t n;

	if (str_read_u64(&end, 10, &tid) || *end != ' ' || !tid || tid >= PID_LIMIT)
		return 0;
	n = strcspn(++end, "\n");
	if (!n || n >= COMM_SIZE)
		return 0;
	memcpy(text, end, n);
	text[n] = '\0';
	import_copy_text(name, COMM_SIZE, text);
	return (int32_t)tid;
}

static void write_thread(struct pb_enc *e, int32_t tid, const char *name)
{
	pb_enc_open(e, PB_PROCESS_TREE_PROCESSES);
	pb_enc_i64(e, PB_PROCESS_TREE_PROCESS_PID, tid);
	pb_enc_str(e, PB_PROCESS_TREE_PROCESS_CMDLINE, name);
	pb_enc_bool(e, PB_PROCESS_TREE_PROCESS_CMDLINE_IS_COMM, true);
	pb_enc_close(e);
	pb_enc_open(e, PB_PROCESS_TREE_THREADS);
	pb_enc_i64(e, PB_PROCESS_TREE_THREAD_TID, tid);
	pb_enc_str(e, PB_PROCESS_TREE_THREAD_NAME, name);
	pb_enc_i64(e, PB_PROCESS_TREE_THREAD_TGID, tid);
	pb_enc_close(e);
}

void thread_names_write(const char *saved_cmdlines, const struct pid_set *skipped, uint64_t time_ns,
			struct trace_sequence *s)
{
	const char *line = saved_cmdlines, *next;
	struct pb_enc *e = trace_sequence_begin(s);
	char name[COMM_SIZE];

	pb_enc_u64(e, PB_TRACE_PACKET_TIMESTAMP, time_ns);
	pb_enc_open(e, PB_TRACE_PACKET_PROCESS_TREE);
	for (; line && *line; line = next) {
		int32_t tid = parse_line(line, name);

		if (tid && !pid_set_has(skipped, tid))
			write_thread(e, tid, name);
		next = strchr(line, '\n');
		next = next ? next + 1 : NULL;
	}
	pb_enc_close(e);
	trace_sequence_end(s);
}
