/* SPDX-License-Identifier: Apache-2.0 */
#include "ebpf/engine/libbpf_words.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/core/mem.h"
#include "base/text/str.h"

#define PREFIX "libbpf: "

static void keep(char *to, size_t size, const char *line)
{
	snprintf(to, size, "%s", line);
	str_make_plain(to, strlen(to), "");
}

static bool is_statistics(const char *line)
{
	static const char *const starts[] = {"processed ", "verification time", "stack depth",
					     "-- END",	   "peak_states",	"max_states",
					     "old state:", "cur state:"};

	for (size_t i = 0; i < ARRAY_SIZE(starts); i++)
		if (str_starts(line, starts[i]))
			return true;
	return !*line;
}

static void keep_verifier(struct libbpf_words *w, char *text)
{
	char *rest = text, *line;
	unsigned helper;

	while ((line = strsep(&rest, "\n")))
		if (!is_statistics(line))
			keep(w->verifier, sizeof(w->verifier), line);
	if (sscanf(w->verifier, "invalid func unknown#%u", &helper) == 1)
		snprintf(w->verifier, sizeof(w->verifier), "the kernel has no BPF helper %u",
			 helper);
}

void libbpf_words_add(struct libbpf_words *w, const char *fmt, va_list args)
{
	_cleanup_(freep) char *text = NULL;
	char *log;

	if (vasprintf(&text, fmt, args) < 0) {
		text = NULL;
		return;
	}
	log = strstr(text, "BEGIN PROG LOAD LOG");
	if (log) {
		log = strchrnul(log, '\n');
		keep_verifier(w, log);
	} else if (!w->error[0]) {
		text[strcspn(text, "\n")] = '\0';
		keep(w->error, sizeof(w->error),
		     text + (str_starts(text, PREFIX) ? strlen(PREFIX) : 0));
	}
}

const char *libbpf_words_best(const struct libbpf_words *w)
{
	return w->verifier[0] ? w->verifier : w->error;
}
