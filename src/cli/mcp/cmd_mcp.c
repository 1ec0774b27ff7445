/* SPDX-License-Identifier: Apache-2.0 */
/* sonda mcp: tools for language models on standard input and output. */

#include <errno.h>
#include <getopt.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/system/fs.h"
#include "base/system/log.h"
#include "cli/mcp/json_rpc.h"
#include "cli/mcp/mcp_server.h"
#include "cli/terminal/help.h"
#include "cli/terminal/verb.h"
#include "cli/trace_tables.h"

#define DEFAULT_SECONDS 60
#define DEFAULT_MEMORY "2g"
#define DEFAULT_RECORD_SECONDS 60

static const char usage[] =
	"usage: sonda mcp [OPTION]... DIR...\n\n"
	"Serves the Model Context Protocol on standard input and output, so that a language-model\n"
	"client can query the traces in these directories and their subdirectories, but no other\n"
	"files. sonda itself contains no model and opens no connection. Each answer has at most\n"
	"4,000 tokens.\n\n"
	"      --allow-record      offer the tool 'record', which records this machine into the "
	"first DIR\n"
	"      --record-time TIME  maximum duration of a recording; default: 60s\n"
	"      --time-limit TIME   maximum duration of any other call; default: 60s\n"
	"      --memory SIZE       maximum memory a call may use for a trace; default: 2g\n"
	"  -h, --help              print this help\n\n"
	"example: sonda mcp /var/lib/sonda/traces\n";

static const char letters[] = ":h";

static const struct option long_options[] = {
	{"allow-record", no_argument, NULL, 'a'},
	{"record-time", required_argument, NULL, 'r'},
	{"time-limit", required_argument, NULL, 't'},
	{"memory", required_argument, NULL, 'm'},
	{"help", no_argument, NULL, 'h'},
	{0},
};

static int parse_seconds(const char *option, const char *text, unsigned *ret, struct err_text *e)
{
	uint32_t ms;

	if (str_to_duration_ms(text, &ms) || ms < 1000 || ms > 3600 * 1000)
		return err_set(e, -EINVAL, "%s %.80s is not a time from 1s to 1h; example: 30s",
			       option, text);
	*ret = ms / 1000;
	return 0;
}

static int mcp_handle_option(void *ctx, int option, struct err_text *e)
{
	struct mcp_server *s = ctx;
	uint64_t bytes;

	switch (option) {
	case 'a':
		s->with_record = true;
		return 0;
	case 'r':
		return parse_seconds("--record-time", optarg, &s->limits.record_seconds, e);
	case 't':
		return parse_seconds("--time-limit", optarg, &s->seconds, e);
	case 'm':
		s->limits.memory = optarg;
		return trace_tables_parse_memory(optarg, &bytes, e);
	default:
		return -EINVAL;
	}
}

/* Answers each complete line of the input, and keeps an incomplete last one. *skip: an overlong
 * line is being discarded up to its end. Returns 0, -ENOMEM, or -errno if an answer cannot be
 * written. */
static int answer_input_lines(struct mcp_server *s, struct strbuf *in, bool *skip)
{
	struct strbuf answer = {0};
	size_t at = 0;
	char *end;
	int r = 0;

	while (r == 0 && at < in->len && (end = memchr(in->s + at, '\n', in->len - at))) {
		*end = '\0';
		if (!*skip)
			mcp_server_answer(s, in->s + at, (size_t)(end - in->s) - at, &answer);
		*skip = false;
		at = (size_t)(end - in->s) + 1;
		if (answer.len)
			r = answer.failed ? -ENOMEM
					  : fs_write_all(STDOUT_FILENO, answer.s, answer.len);
		strbuf_clear(&answer);
	}
	if (at) {
		memmove(in->s, in->s + at, in->len - at);
		in->len -= at;
	}
	if (in->len > JSON_RPC_LINE_MAX) {
		if (!*skip)
			json_rpc_refuse_line(&answer);
		*skip = true;
		in->len = 0;
		if (r == 0 && answer.len)
			r = fs_write_all(STDOUT_FILENO, answer.s, answer.len);
	}
	strbuf_deinit(&answer);
	return r;
}

/* Serves until the end of the input. Returns an exit code. */
static int serve_requests(struct mcp_server *s)
{
	struct strbuf in = {0};
	bool skip = false;
	int r = 0;

	while (r == 0) {
		char *room = strbuf_reserve(&in, 65536);
		ssize_t n = room ? read(STDIN_FILENO, room, 65536) : -1;

		if (!room)
			r = -ENOMEM;
		else if (n < 0)
			r = errno == EINTR ? 0 : -errno;
		else if (n == 0)
			break;
		else
			in.len += (size_t)n;
		r = r ?: answer_input_lines(s, &in, &skip);
	}
	strbuf_deinit(&in);
	if (r < 0 && r != -EPIPE)
		log_error("mcp: %s", strerror(-r));
	return r < 0 ? EXIT_FAILED : EXIT_GOOD;
}

int cmd_mcp(int argc, char **argv)
{
	struct mcp_server s = {
		.limits = {.memory = DEFAULT_MEMORY, .record_seconds = DEFAULT_RECORD_SECONDS},
		.seconds = DEFAULT_SECONDS,
		.run = verb_child_run,
	};
	struct err_text e;
	int r = options_parse(argc, argv, letters, long_options, mcp_handle_option, &s, &e), code;

	if (r > 0) {
		help_print(usage);
		return EXIT_GOOD;
	}
	if (r == 0 && optind == argc)
		r = err_set(&e, -EINVAL, "DIR is missing");
	if (r < 0) {
		log_error("mcp: %s", e.text);
		log_error("see sonda help mcp");
		return EXIT_USAGE;
	}
	for (int i = optind; i < argc && r == 0; i++)
		r = trace_dirs_add(&s.dirs, argv[i], &e);
	signal(SIGPIPE, SIG_IGN);
	if (r < 0)
		log_error("mcp: %s", e.text);
	code = r < 0 ? EXIT_FAILED : serve_requests(&s);
	mcp_server_deinit(&s);
	return code;
}
