/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/recorder/recorder_options.h"

#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/core/mem.h"
#include "base/system/fs.h"
#include "base/text/str.h"
#include "cli/record/option_values.h"
#include "cli/recorder/recorder_dir.h"
#include "cli/terminal/verb.h"

#define ARGS_BYTES_MAX 65536
#define ARGS_MAX 1024
#define PART_MIN_MS 10000u
#define PART_MAX_MS 60000u
#define PART_MIN_BYTES 65536 /* the least that TraceConfig.rotate allows for a file */
#define PARTS_MAX 10000ull /* the most that TraceConfig.rotate keeps */
/* In a busy minute, parts may end by size: up to this many in the time of one part, before the ring
 * covers less time. Parts are made smaller for that, but not below the minimum. */
#define BUSY_PARTS 4
#define BUSY_PART_MIN_BYTES (512ull << 10)
#define RECORDER_MIN_KERNEL_BYTES (4ull << 20)

const char recorder_usage[] =
	"usage: sonda recorder enable [OPTION]... [WORD]...\n"
	"       sonda recorder run [OPTION]... [WORD]...\n"
	"       sonda recorder status | disable [OPTION]...\n\n"
	"Records continuously into a ring on disk. After an incident, 'sonda snapshot --last 5m\n"
	"recorder' saves the minutes before it. WORDs are as for sonda record (default: the "
	"preset\n"
	"recorder). 'enable' sets up and starts the unit sonda-recorder.service; the unit runs\n"
	"'sonda recorder run' in the foreground.\n\n"
	"      --keep TIME    remove parts older than TIME (default: 1h)\n"
	"      --size SIZE    maximum size of the ring on disk (default: 2gb)\n"
	"      --in-kernel    keep events in the kernel's ring buffers until a snapshot is taken;\n"
	"                     --size then sets their total size (default: 64mb)\n"
	"      --part TIME    length of a part (default: keep/60, at least 10s, at most 1m)\n"
	"      --dir DIR      directory of the ring (default: /var/lib/sonda/recorder)\n"
	"      --on WHAT      save a snapshot on trigger:NAME, 'counter:NAME>VALUE', "
	"unit-failed[:UNIT],\n"
	"                     journal:EXPRESSION; SIGUSR1 and 'sonda trigger recorder' always save "
	"one\n"
	"      --before TIME  how far back a snapshot reaches (default: 5m)\n"
	"      --pause TIME   minimum time between snapshots for the same trigger (default: 1m)\n"
	"      --alerts SOCKET  also save a snapshot when sonda metrics sends an alert to this "
	"socket\n"
	"      --snapshots N  number of snapshots to keep (default: 20)\n"
	"      --crash        also record into a kernel ring buffer that survives a panic or\n"
	"                     hang: sonda report --boot -1 (Linux 6.12 or later; needs a reboot)\n"
	"      --crash-size SIZE  memory to reserve for that ring (default: 4mb per CPU, at least "
	"32mb)\n"
	"      --grub         enable: add the kernel parameters for --crash to "
	"/etc/default/grub.d\n"
	"      --args FILE    run: read options and words from FILE, one per line\n"
	"      --remove       disable: also remove the ring\n"
	"      --json         status: print JSON\n"
	"  -h, --help         print this help\n\n"
	"example: sonda recorder enable --keep 2h --size 4gb recorder sched\n";

static const struct option long_options[] = {
	{"keep", required_argument, NULL, 'k'},
	{"size", required_argument, NULL, 's'},
	{"in-kernel", no_argument, NULL, 'K'},
	{"part", required_argument, NULL, 'p'},
	{"dir", required_argument, NULL, 'd'},
	{"on", required_argument, NULL, 'o'},
	{"before", required_argument, NULL, 'b'},
	{"pause", required_argument, NULL, 'w'},
	{"alerts", required_argument, NULL, 'A'},
	{"snapshots", required_argument, NULL, 'n'},
	{"args", required_argument, NULL, 'a'},
	{"crash", no_argument, NULL, 'c'},
	{"crash-size", required_argument, NULL, 'C'},
	{"grub", no_argument, NULL, 'g'},
	{"remove", no_argument, NULL, 'r'},
	{"json", no_argument, NULL, 'j'},
	{"help", no_argument, NULL, 'h'},
	{0},
};

static const char *const actions[] = {
	[RECORDER_ENABLE] = "enable",
	[RECORDER_STATUS] = "status",
	[RECORDER_DISABLE] = "disable",
	[RECORDER_RUN] = "run",
};

struct recorder_parse {
	struct recorder_options *o; /* borrowed */
	const char *args_file; /* borrowed; NULL: none */
};

static int recorder_handle_option(void *ctx, int option, struct err_text *e)
{
	struct recorder_parse *p = ctx;
	struct recorder_options *o = p->o;

	switch (option) {
	case 'k':
		return option_parse_duration("--keep", optarg, &o->keep_ms, e);
	case 's':
		return option_parse_file_size("--size", optarg, &o->max_bytes, e);
	case 'K':
		o->in_kernel = true;
		return 0;
	case 'p':
		return option_parse_duration("--part", optarg, &o->part_ms, e);
	case 'd':
		o->dir = optarg;
		if (*optarg != '/')
			return err_set(e, -EINVAL, "--dir '%.80s' is not an absolute path", optarg);
		return 0;
	case 'o':
		return recorder_triggers_add(&o->triggers, optarg, e);
	case 'b':
		return option_parse_duration("--before", optarg, &o->before_ms, e);
	case 'w':
		return option_parse_duration("--pause", optarg, &o->pause_ms, e);
	case 'n':
		return option_parse_number("--snapshots", optarg, &o->max_snapshots, e);
	case 'A':
		o->alerts = optarg;
		if (*optarg != '/')
			return err_set(e, -EINVAL, "--alerts '%.80s' is not an absolute path",
				       optarg);
		return 0;
	case 'a':
		p->args_file = optarg;
		return 0;
	case 'c':
		o->crash = true;
		return 0;
	case 'C':
		o->crash = true;
		return option_parse_file_size("--crash-size", optarg, &o->crash_bytes, e);
	case 'g':
		o->grub = true;
		return 0;
	case 'r':
		o->remove = true;
		return 0;
	case 'j':
		o->json = true;
		return 0;
	}
	return -EINVAL;
}

/* Sets the sizes of the rings. With --in-kernel, --size means the kernel's rings, and the ring on
 * disk has room for a few snapshots of them. */
static void recorder_set_sizes(struct recorder_options *o)
{
	if (o->in_kernel) {
		o->kernel_bytes = o->max_bytes ? o->max_bytes : RECORDER_DEFAULT_KERNEL_BYTES;
		o->max_bytes = MAX(RECORDER_DEFAULT_BYTES, 2 * o->kernel_bytes);
	} else if (!o->max_bytes) {
		o->max_bytes = RECORDER_DEFAULT_BYTES;
	}
}
/* Returns the number of parts that cover the requested age if each part ends by its age, not by its
 * size. */
static uint32_t parts_by_time(const struct recorder_options *o)
{
	return (o->keep_ms + o->part_ms - 1) / o->part_ms + 1;
}

/* Checks that the options fit each other, and sets the sizes and times that were not given. Returns
 * 0, or -EINVAL and sets e. */
static int recorder_complete_options(struct recorder_options *o, struct err_text *e)
{
	bool records = o->action == RECORDER_ENABLE || o->action == RECORDER_RUN;

	if (o->n_words && !records)
		return err_set(e, -EINVAL, "%s takes no words, but got '%.80s'", actions[o->action],
			       o->words[0]);
	for (size_t i = 0; i < o->n_words; i++)
		if (o->words[i][0] == '-' || strchr(o->words[i], '\n'))
			return err_set(e, -EINVAL, "'%.80s' is not an event or preset",
				       o->words[i]);
	for (size_t i = 0; i < o->triggers.n; i++)
		if (strchr(o->triggers.of[i].spec, '\n'))
			return err_set(e, -EINVAL, "--on contains a line break");
	if (o->triggers.n && !records)
		return err_set(e, -EINVAL, "--on is an option of enable and run");
	if (o->crash && !records)
		return err_set(e, -EINVAL, "--crash is an option of enable and run");
	if (o->grub && (o->action != RECORDER_ENABLE || !o->crash))
		return err_set(e, -EINVAL, "--grub is an option of enable --crash");
	if (o->crash_bytes && (o->crash_bytes < RECORDER_CRASH_MIN_BYTES ||
			       o->crash_bytes > RECORDER_CRASH_MAX_BYTES))
		return err_set(e, -EINVAL, "--crash-size: the range is 4 MiB to 4 GiB");
	if (o->remove && o->action != RECORDER_DISABLE)
		return err_set(e, -EINVAL, "--remove is an option of disable");
	if (o->json && o->action != RECORDER_STATUS)
		return err_set(e, -EINVAL, "--json is an option of status");
	if (o->in_kernel && !records)
		return err_set(e, -EINVAL, "--in-kernel is an option of enable and run");
	recorder_set_sizes(o);
	if (o->in_kernel && o->kernel_bytes < RECORDER_MIN_KERNEL_BYTES)
		return err_set(e, -EINVAL, "--size: the minimum with --in-kernel is 4 MiB");
	if (o->max_bytes < RECORDER_MIN_BYTES)
		return err_set(e, -EINVAL, "--size: the minimum is 16 MiB");
	if (o->keep_ms < 60000)
		return err_set(e, -EINVAL, "--keep: the minimum is one minute");
	if (!o->part_ms)
		o->part_ms = MIN(MAX(o->keep_ms / 60, PART_MIN_MS), PART_MAX_MS);
	if (o->part_ms < 1000 || o->part_ms > o->keep_ms / 4)
		return err_set(e, -EINVAL, "--part: the range is 1 s to a quarter of --keep");
	if (parts_by_time(o) > PARTS_MAX || recorder_options_part_bytes(o) < PART_MIN_BYTES)
		return err_set(
			e, -EINVAL,
			"%u parts are too many for --size; use a longer --part or a shorter --keep",
			parts_by_time(o));
	return 0;
}

/* Reads the lines of a file as arguments; skips empty lines and those that begin with #. */
static int read_args(const char *path, struct recorder_options *o, int *ret_n, struct err_text *e)
{
	struct strbuf text = {0};
	int r = fs_read_file(path, ARGS_BYTES_MAX, &text), n = 2;

	if (r < 0) {
		strbuf_deinit(&text);
		return err_set(e, r, "cannot read %.300s: %s", path, strerror(-r));
	}
	o->args_text = strbuf_take(&text);
	o->args = calloc(ARGS_MAX + 1, sizeof(*o->args));
	if (!o->args)
		return err_set(e, -ENOMEM, "out of memory");
	o->args[0] = (char *)"recorder";
	o->args[1] = (char *)actions[o->action];
	for (char *save = NULL, *line = o->args_text ? strtok_r(o->args_text, "\n", &save) : NULL;
	     line && n < ARGS_MAX; line = strtok_r(NULL, "\n", &save))
		if (*line != '#')
			o->args[n++] = line;
	*ret_n = n;
	return 0;
}

static int find_action(const char *word, struct recorder_options *o, struct err_text *e)
{
	for (size_t i = 0; i < ARRAY_SIZE(actions); i++)
		if (!strcmp(word, actions[i])) {
			o->action = (enum recorder_action)i;
			return 0;
		}
	return err_set(e, -EINVAL, "unknown action '%.80s': use enable, run, status or disable",
		       word);
}

/* Returns 0, 1 for --help, or -EINVAL and sets e. */
static int recorder_parse_arguments(struct recorder_parse *p, int argc, char **argv,
				    struct err_text *e)
{
	int r = options_parse(argc, argv, ":h", long_options, recorder_handle_option, p, e);

	if (r)
		return r;
	if (optind == argc)
		return err_set(e, -EINVAL, "no action; use enable, run, status or disable");
	p->o->words = argv + optind + 1;
	p->o->n_words = (size_t)(argc - optind - 1);
	return find_action(argv[optind], p->o, e);
}

static int parse_args_file(struct recorder_parse *p, struct err_text *e)
{
	struct recorder_options *o = p->o;
	int r, n = 0;

	if (o->action != RECORDER_RUN || o->n_words)
		return err_set(e, -EINVAL,
			       "--args is an option of run and cannot be combined with words");
	r = read_args(TAKE_PTR(p->args_file), o, &n, e);
	if (r == 0)
		r = recorder_parse_arguments(p, n, o->args, e);
	if (r == 0 && p->args_file)
		r = err_set(e, -EINVAL, "--args is not allowed inside an --args file");
	return r;
}

int recorder_options_parse(int argc, char **argv, struct recorder_options *ret, struct err_text *e)
{
	struct recorder_options o = {
		.dir = RECORDER_DEFAULT_DIR,
		.keep_ms = RECORDER_DEFAULT_KEEP_MS,
		.before_ms = RECORDER_DEFAULT_BEFORE_MS,
		.pause_ms = RECORDER_DEFAULT_PAUSE_MS,
		.max_snapshots = RECORDER_DEFAULT_SNAPSHOTS,
	};
	struct recorder_parse p = {.o = &o};
	int r = recorder_parse_arguments(&p, argc, argv, e);

	if (r == 0 && p.args_file)
		r = parse_args_file(&p, e);
	o.help = r > 0;
	if (r == 0)
		r = recorder_complete_options(&o, e);
	if (r < 0) {
		recorder_options_deinit(&o);
		return r;
	}
	*ret = o;
	return 0;
}

void recorder_options_deinit(struct recorder_options *o)
{
	free(TAKE_PTR(o->args_text));
	free(TAKE_PTR(o->args));
}

const char *recorder_options_default_word(const struct recorder_options *o)
{
	return o->in_kernel ? RECORDER_DEFAULT_KERNEL_WORD : RECORDER_DEFAULT_WORD;
}

uint64_t recorder_options_part_bytes(const struct recorder_options *o)
{
	uint64_t parts = parts_by_time(o);

	return MAX(o->max_bytes / (BUSY_PARTS * parts + 2),
		   MIN(BUSY_PART_MIN_BYTES, o->max_bytes / (parts + 2)));
}

uint32_t recorder_options_parts(const struct recorder_options *o)
{
	return (uint32_t)MIN(o->max_bytes / recorder_options_part_bytes(o) - 2, PARTS_MAX);
}
