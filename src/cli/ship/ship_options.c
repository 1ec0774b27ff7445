/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/ship/ship_options.h"

#include <ctype.h>
#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>

#include "base/core/mem.h"
#include "base/system/memory_limit.h"
#include "base/text/str.h"
#include "cli/record/option_values.h"
#include "cli/s3/s3_credentials.h"
#include "cli/terminal/verb.h"
#include "cli/trace_tables.h"

#define ONCE_RETRIES 8

const char ship_usage[] =
	"usage: sonda ship [OPTION]... SPOOL s3://BUCKET[/PREFIX]\n"
	"       sonda ship [OPTION]... --from DIR SPOOL [s3://BUCKET[/PREFIX]]\n"
	"       sonda ship [OPTION]... --compact DAY SPOOL s3://BUCKET[/PREFIX]\n"
	"       sonda ship [OPTION]... --compact DAY DIR\n\n"
	"Uploads traces, and their tables as Parquet, to an S3-compatible store. SPOOL is a "
	"directory where\n"
	"traces wait until they are uploaded. With --from, new traces in a directory are added to "
	"the spool.\n"
	"Runs until stopped.\n\n"
	"Collecting:\n"
	"      --from DIR          collect *.pftrace files from DIR (repeatable)\n"
	"      --machine NAME      machine name used in object keys (default: the host name)\n"
	"      --settle TIME       collect a file once it has been unchanged for TIME (default "
	"30s)\n"
	"      --size SIZE         maximum size of the spool (default 2gb); when it is full, the "
	"oldest\n"
	"                          traces are dropped\n"
	"      --add-table NAME    also export this table, such as args or ftrace_event "
	"(repeatable)\n"
	"      --memory SIZE       memory limit for a trace's tables (default: a quarter of "
	"RAM)\n\n"
	"Uploading:\n"
	"      --endpoint URL      https://HOST[:PORT] of the store (default: $AWS_ENDPOINT_URL, "
	"or AWS)\n"
	"      --region NAME       region of the bucket (default: $AWS_REGION, or us-east-1)\n"
	"      --credentials FILE  file with aws_access_key_id and aws_secret_access_key "
	"(default:\n"
	"                          ~/.aws/credentials, unless $AWS_ACCESS_KEY_ID is set)\n"
	"      --profile NAME      section of that file (default: $AWS_PROFILE, or default)\n"
	"      --ca FILE           CA certificates to trust instead of the system's\n"
	"      --allow-http        allow an endpoint without TLS on another machine\n"
	"      --retries N         attempts per request (default: no limit; with --once 8)\n"
	"      --retry-max TIME    maximum delay between retries (default 5m)\n\n"
	"Merging:\n"
	"      --compact DAY       merge the per-trace tables of DAY (2026-11-27) into a few large "
	"files\n"
	"                          below merged/; DIR is a local copy of the bucket\n"
	"      --part SIZE         start a new file at SIZE (default 512mb)\n"
	"      --remove            remove the per-trace files afterwards\n"
	"\n"
	"      --once              exit when all traces are in the store\n"
	"      --every TIME        look for new traces this often (default 10s)\n"
	"      --status DIR        write status files for sonda metrics to DIR\n"
	"  -h, --help              print this help\n\n"
	"example: sonda ship --from /var/lib/sonda/recorder/snapshots /var/spool/sonda "
	"s3://traces\n";

static const struct option long_options[] = {
	{"from", required_argument, NULL, 'f'},
	{"machine", required_argument, NULL, 'm'},
	{"settle", required_argument, NULL, 's'},
	{"size", required_argument, NULL, 'S'},
	{"add-table", required_argument, NULL, 't'},
	{"memory", required_argument, NULL, 'M'},
	{"endpoint", required_argument, NULL, 'E'},
	{"region", required_argument, NULL, 'R'},
	{"credentials", required_argument, NULL, 'c'},
	{"profile", required_argument, NULL, 'p'},
	{"ca", required_argument, NULL, 'C'},
	{"allow-http", no_argument, NULL, 'H'},
	{"retries", required_argument, NULL, 'r'},
	{"retry-max", required_argument, NULL, 'x'},
	{"compact", required_argument, NULL, 'd'},
	{"part", required_argument, NULL, 'P'},
	{"remove", no_argument, NULL, 'X'},
	{"once", no_argument, NULL, 'o'},
	{"every", required_argument, NULL, 'e'},
	{"status", required_argument, NULL, 'T'},
	{"help", no_argument, NULL, 'h'},
	{0},
};

/* Without ftrace_event and args, which are larger than all others together. */
static const char *const default_tables[] = {
	"cgroup",
	"cgroup_wait",
	"clock_snapshot",
	"counter",
	"counter_track",
	"cpu",
	"cpu_counter_track",
	"event_histogram",
	"event_histogram_row",
	"machine",
	"metadata",
	"process",
	"process_counter_track",
	"process_track",
	"program_wait_length",
	"sched",
	"slice",
	"stats",
	"thread",
	"thread_state",
	"thread_track",
	"trace_bounds",
	"track",
};

struct ship_parse {
	struct ship_options *o; /* borrowed */
	const char *machine, *endpoint, *region; /* borrowed; NULL: not given */
	bool allow_http;
};

/* ---- names ---- */

void ship_make_machine(const char *name, char ret[static SHIP_MACHINE_SIZE])
{
	size_t n = 0;

	if (!isalpha((unsigned char)name[0]))
		n = (size_t)snprintf(ret, SHIP_MACHINE_SIZE, "m-");
	for (; *name && n + 1 < SHIP_MACHINE_SIZE; name++) {
		unsigned char c = (unsigned char)*name;

		if (c >= 'A' && c <= 'Z')
			ret[n++] = (char)tolower(c);
		else
			ret[n++] = (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '.'
					   ? (char)c
					   : '-';
	}
	ret[n] = '\0';
}

static int choose_machine(struct ship_parse *p, struct err_text *e)
{
	struct utsname name;

	if (!p->machine) {
		uname(&name);
		ship_make_machine(name.nodename, p->o->machine);
		return 0;
	}
	ship_make_machine(p->machine, p->o->machine);
	if (strcmp(p->machine, p->o->machine) != 0)
		return err_set(e, -EINVAL,
			       "--machine '%.80s' is not a valid name: it must begin with a letter "
			       "and have at most 63 characters: a-z, 0-9, '.' and '-'",
			       p->machine);
	return 0;
}

static bool has_only_chars(const char *s, size_t len, const char *others)
{
	for (size_t i = 0; i < len; i++)
		if (!isalnum((unsigned char)s[i]) && !strchr(others, s[i]))
			return false;
	return true;
}

static int ship_parse_url(struct ship_options *o, const char *url, struct err_text *e)
{
	const char *bucket = url + strlen("s3://"), *slash;
	size_t n, len;

	if (!str_starts(url, "s3://"))
		return err_set(e, -EINVAL, "'%.200s' is not s3://BUCKET or s3://BUCKET/PREFIX",
			       url);
	slash = strchrnul(bucket, '/');
	n = (size_t)(slash - bucket);
	if (n < 3 || n >= SHIP_BUCKET_SIZE || !has_only_chars(bucket, n, ".-") ||
	    !isalnum(bucket[0]) || !isalnum(bucket[n - 1]))
		return err_set(e, -EINVAL, "'%.200s' is not a valid bucket name", url);
	snprintf(o->bucket, sizeof(o->bucket), "%.*s", (int)n, bucket);
	slash += *slash == '/';
	len = strlen(slash);
	if (len + 2 > sizeof(o->prefix) || !has_only_chars(slash, len, "-_.=/") || *slash == '/' ||
	    strstr(slash, "//") || strstr(slash, ".."))
		return err_set(e, -EINVAL,
			       "'%.200s' is not a valid prefix: it may contain letters, digits and "
			       "-_.=/, but no empty parts",
			       url);
	snprintf(o->prefix, sizeof(o->prefix), "%s%s", slash,
		 len && slash[len - 1] != '/' ? "/" : "");
	o->uploads = true;
	return 0;
}

/* ---- the store ---- */

static const char *choose_profile(const struct ship_options *o)
{
	const char *chosen = getenv("AWS_PROFILE");

	return o->profile ? o->profile : chosen && *chosen ? chosen : "default";
}

/* Writes the value of the option, or else that of the first variable that is set, or that in
 * ~/.aws/config. Returns false if there is none, or it does not fit. */
static bool find_setting(const struct ship_options *o, const char *option,
			 const char *const variables[static 2], const char *name, char *ret,
			 size_t size)
{
	for (unsigned i = 0; !option && i < 2; i++) {
		option = getenv(variables[i]);
		if (option && !*option)
			option = NULL;
	}
	if (option)
		return snprintf(ret, size, "%s", option) < (int)size;
	return s3_config_read(choose_profile(o), name, ret, size);
}

static bool is_loopback(const char *host)
{
	return str_starts(host, "127.") || str_starts(host, "[::1]") ||
	       !strcmp(host, "localhost") || str_starts(host, "localhost:");
}

/* Checks an endpoint that the user has named, and removes a '/' at its end and a port that is the
 * scheme's own: libcurl sends "Host" without it. Returns 0, or -EINVAL and sets e. */
static int normalize_endpoint(struct ship_parse *p, struct err_text *e)
{
	char *url = p->o->endpoint, *host = strstr(url, "://");
	bool is_http = str_starts(url, "http://");
	size_t len = strlen(url);
	const char *port = is_http ? ":80" : ":443";

	if (len && url[len - 1] == '/')
		url[--len] = '\0';
	host = host ? host + strlen("://") : url + len;
	if ((!is_http && !str_starts(url, "https://")) || !*host ||
	    !has_only_chars(host, strlen(host), ".-:[]"))
		return err_set(e, -EINVAL, "endpoint '%.200s': expected https://HOST[:PORT]", url);
	if (is_http && !p->allow_http && !is_loopback(host))
		return err_set(e, -EINVAL,
			       "endpoint '%.200s' would receive the traces unencrypted; use "
			       "https, or --allow-http",
			       url);
	if (str_ends(host, port))
		url[len - strlen(port)] = '\0';
	return 0;
}

static int read_store_settings(struct ship_parse *p, struct err_text *e)
{
	static const char *const regions[] = {"AWS_REGION", "AWS_DEFAULT_REGION"};
	static const char *const endpoints[] = {"AWS_ENDPOINT_URL_S3", "AWS_ENDPOINT_URL"};
	struct ship_options *o = p->o;

	if (!find_setting(o, p->region, regions, "region", o->region, sizeof(o->region)))
		snprintf(o->region, sizeof(o->region), "us-east-1");
	if (!has_only_chars(o->region, strlen(o->region), "-"))
		return err_set(e, -EINVAL,
			       "the region '%.60s' may contain only letters, digits and '-'",
			       o->region);
	if (find_setting(o, p->endpoint, endpoints, "endpoint_url", o->endpoint,
			 sizeof(o->endpoint)))
		return normalize_endpoint(p, e);
	/* The store's certificate covers one level of names, so the host cannot contain a bucket
	 * with a dot. */
	o->bucket_in_host = !strchr(o->bucket, '.');
	snprintf(o->endpoint, sizeof(o->endpoint), "https://s3.%s.amazonaws.com", o->region);
	return 0;
}

/* ---- the command line ---- */

static int ship_add_table(struct ship_options *o, const char *name, struct err_text *e)
{
	if (!*name || strlen(name) > 64 || !has_only_chars(name, strlen(name), "_"))
		return err_set(e, -EINVAL, "--add-table '%.80s' is not a valid table name", name);
	for (size_t i = 0; i < o->n_tables; i++)
		if (!strcmp(o->tables[i], name))
			return 0;
	if (o->n_tables == SHIP_TABLES_MAX)
		return err_set(e, -EINVAL, "--add-table: too many tables");
	o->tables[o->n_tables++] = name;
	return 0;
}

static int parse_day(struct ship_options *o, const char *day, struct err_text *e)
{
	if (strlen(day) != 10 || strspn(day, "0123456789") != 4 || day[4] != '-' ||
	    strspn(day + 5, "0123456789") != 2 || day[7] != '-' ||
	    strspn(day + 8, "0123456789") != 2)
		return err_set(e, -EINVAL, "--compact %.80s: expected a day, e.g. 2026-11-27", day);
	o->compact = day;
	return 0;
}

static int ship_handle_option(void *ctx, int option, struct err_text *e)
{
	struct ship_parse *p = ctx;
	struct ship_options *o = p->o;

	switch (option) {
	case 'f':
		if (o->n_from == SHIP_DIRS_MAX)
			return err_set(e, -EINVAL, "--from: too many directories; the limit is %d",
				       SHIP_DIRS_MAX);
		o->from[o->n_from++] = optarg;
		return 0;
	case 'm':
		p->machine = optarg;
		return 0;
	case 's':
		return option_parse_duration("--settle", optarg, &o->settle_ms, e);
	case 'S':
		return option_parse_file_size("--size", optarg, &o->max_bytes, e);
	case 't':
		return ship_add_table(o, optarg, e);
	case 'M':
		return trace_tables_parse_memory(optarg, &o->memory, e);
	case 'E':
		p->endpoint = optarg;
		return 0;
	case 'R':
		p->region = optarg;
		return 0;
	case 'c':
		o->credentials = optarg;
		return 0;
	case 'p':
		o->profile = optarg;
		return 0;
	case 'C':
		o->ca_file = optarg;
		return 0;
	case 'H':
		p->allow_http = true;
		return 0;
	case 'r':
		return option_parse_number("--retries", optarg, &o->retries, e);
	case 'x':
		return option_parse_duration("--retry-max", optarg, &o->retry_max_ms, e);
	case 'd':
		return parse_day(o, optarg, e);
	case 'P':
		return option_parse_file_size("--part", optarg, &o->part_bytes, e);
	case 'X':
		o->removes = true;
		return 0;
	case 'o':
		o->once = true;
		return 0;
	case 'T':
		o->status = optarg;
		return 0;
	case 'e':
		return option_parse_duration("--every", optarg, &o->every_ms, e);
	}
	return -EINVAL;
}

/* Takes SPOOL and the bucket from the words, checks that the options fit each other, and sets those
 * that were not given. Returns 0, or -errno and sets e. */
static int ship_complete_options(struct ship_parse *p, char **words, int n, struct err_text *e)
{
	struct ship_options *o = p->o;
	int r = choose_machine(p, e);

	if (r < 0)
		return r;
	if (n == 0)
		return err_set(e, -EINVAL, "SPOOL is missing");
	if (n > 2)
		return err_set(e, -EINVAL, "unexpected argument '%.80s'", words[2]);
	o->spool = words[0];
	if (str_starts(o->spool, "s3://"))
		return err_set(e, -EINVAL, "put the directory SPOOL before '%.80s'", o->spool);
	if (n == 2)
		r = ship_parse_url(o, words[1], e);
	else if (!o->n_from && !o->compact)
		r = err_set(e, -EINVAL, "neither s3://BUCKET nor --from DIR is given");
	if (r == 0 && o->uploads)
		r = read_store_settings(p, e);
	if (o->compact && o->n_from)
		return err_set(e, -EINVAL, "--compact and --from cannot be combined");
	if (o->removes && !o->compact)
		return err_set(e, -EINVAL, "--remove needs --compact DAY");
	if ((o->once || o->compact) && !o->retries)
		o->retries = ONCE_RETRIES;
	return r;
}

int ship_options_parse(int argc, char **argv, struct ship_options *ret, struct err_text *e)
{
	struct ship_options o = {
		.max_bytes = UINT64_C(2) << 30,
		.settle_ms = 30000,
		.every_ms = 10000,
		.retry_max_ms = 5 * 60 * 1000,
		.memory = memory_limit() / 4,
		.part_bytes = UINT64_C(512) << 20,
		.n_tables = ARRAY_SIZE(default_tables),
	};
	struct ship_parse p = {.o = &o};
	int r;

	memcpy(o.tables, default_tables, sizeof(default_tables));
	r = options_parse(argc, argv, ":h", long_options, ship_handle_option, &p, e);
	o.help = r > 0;
	if (r == 0)
		r = ship_complete_options(&p, argv + optind, argc - optind, e);
	if (r >= 0)
		*ret = o;
	return MIN(r, 0);
}
