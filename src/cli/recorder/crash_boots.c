/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/recorder/crash_boots.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/core/mem.h"
#include "base/system/fs.h"
#include "base/text/str.h"
#include "cli/trace/value_lines.h"

#define LINES_SUFFIX ".boot"
#define BOOTS_MAX 1000 /* that are looked at */

static const struct value_line lines[] = {
#define TEXT(member) VALUE_LINE_TEXT(struct crash_boot, member)
#define NUMBER(member) VALUE_LINE_NUMBER(struct crash_boot, member)
	TEXT(id),	 TEXT(release), TEXT(machine),	 TEXT(clock), NUMBER(armed_s),
	NUMBER(date_ns), NUMBER(cpus),	NUMBER(saved_s), TEXT(why),
#undef TEXT
#undef NUMBER
};

/* ---- one boot ---- */

static int format_boots_dir(const char *dir, char ret[static PATH_MAX])
{
	return fs_join(ret, PATH_MAX, dir, "boots");
}

int crash_boot_path(const char *dir, const struct crash_boot *b, const char *extension,
		    char ret[static PATH_MAX])
{
	int n = snprintf(ret, PATH_MAX, "%s/boots/%s%s", dir, b->name, extension);

	return n < PATH_MAX ? 0 : -ENAMETOOLONG;
}

int crash_boot_write(const char *dir, const struct crash_boot *b)
{
	char directory[PATH_MAX], name[CRASH_BOOT_NAME_SIZE + sizeof(LINES_SUFFIX)];
	int r = format_boots_dir(dir, directory);

	if (r == 0 && mkdir(directory, 0700) < 0 && errno != EEXIST)
		r = -errno;
	snprintf(name, sizeof(name), "%s" LINES_SUFFIX, b->name);
	return r ? r : value_lines_write(directory, name, 0600, lines, ARRAY_SIZE(lines), b);
}

void crash_boot_read_id(char ret[static 40])
{
	struct strbuf text = {0};

	ret[0] = '\0';
	if (fs_read_file("/proc/sys/kernel/random/boot_id", 256, &text) == 0 && text.s)
		snprintf(ret, 40, "%.*s", (int)strspn(text.s, "0123456789abcdef-"), text.s);
	strbuf_deinit(&text);
}

/* ---- the list ---- */

struct boot_list {
	const char *dir; /* borrowed */
	struct crash_boots *boots; /* borrowed */
};

static int boot_list_add(void *ctx, const char *name, unsigned char d_type)
{
	struct boot_list *l = ctx;
	struct crash_boot b;
	size_t len = strlen(name);

	(void)d_type;
	if (!str_ends(name, LINES_SUFFIX) || name[0] < '0' || name[0] > '9' ||
	    len - strlen(LINES_SUFFIX) >= sizeof(b.name) || l->boots->n == BOOTS_MAX ||
	    value_lines_read(l->dir, name, lines, ARRAY_SIZE(lines), &b, sizeof(b)) < 0)
		return 0;
	if (array_reserve(&l->boots->of, &l->boots->cap, l->boots->n + 1, sizeof(b)))
		return -ENOMEM;
	memcpy(b.name, name, len - strlen(LINES_SUFFIX));
	l->boots->of[l->boots->n++] = b;
	return 0;
}

static int crash_boot_compare(const void *a, const void *b)
{
	return strcmp(((const struct crash_boot *)a)->name, ((const struct crash_boot *)b)->name);
}

int crash_boots_read(const char *dir, struct crash_boots *ret)
{
	char directory[PATH_MAX];
	struct boot_list l = {.dir = directory, .boots = ret};
	int r = format_boots_dir(dir, directory);

	ret->n = 0;
	if (r == 0)
		r = fs_each(directory, boot_list_add, &l);
	if (ret->n)
		qsort(ret->of, ret->n, sizeof(*ret->of), crash_boot_compare);
	return r == -ENOENT ? 0 : r;
}

void crash_boots_deinit(struct crash_boots *b)
{
	free(b->of);
	*b = (struct crash_boots){0};
}

void crash_boots_prune(const char *dir)
{
	static const char *const extensions[] = {LINES_SUFFIX, ".dat", ".pftrace"};
	struct crash_boots boots = {0};
	char path[PATH_MAX];

	crash_boots_read(dir, &boots);
	for (size_t i = 0; i + CRASH_BOOTS_KEPT < boots.n; i++)
		for (size_t k = 0; k < ARRAY_SIZE(extensions); k++)
			if (crash_boot_path(dir, &boots.of[i], extensions[k], path) == 0)
				unlink(path);
	crash_boots_deinit(&boots);
}

/* ---- --boot ---- */

static void format_boot_time(uint64_t s, char *ret, size_t size)
{
	time_t t = (time_t)s;
	struct tm tm;

	if (!localtime_r(&t, &tm) || !strftime(ret, size, "%Y-%m-%d %H:%M:%S", &tm))
		snprintf(ret, size, "an unknown time");
}

static int explain_missing_boot(const char *dir, const struct crash_boots *boots, int number,
				struct err_text *e)
{
	if (!boots->n)
		return err_set(e, -ENOENT,
			       "%.300s has no data from an earlier boot: no ring that survives a "
			       "crash was armed; arm one with: sonda recorder enable --crash",
			       dir);
	return err_set(e, -ENOENT, "--boot %d: %.300s has only %zu earlier boot%s", number, dir,
		       boots->n, boots->n == 1 ? "" : "s");
}

int crash_boots_choose(const char *dir, int number, struct crash_boot *ret, struct err_text *e)
{
	struct crash_boots boots = {0};
	const struct crash_boot *b = NULL;
	char running[40], when[64];
	int r = crash_boots_read(dir, &boots);

	if (r < 0) {
		crash_boots_deinit(&boots);
		return err_set(e, r, "cannot read %.300s/boots: %s", dir, strerror(-r));
	}
	crash_boot_read_id(running);
	for (size_t i = boots.n; i-- > 0;)
		if (!strcmp(boots.of[i].id, running))
			memmove(&boots.of[i], &boots.of[i + 1],
				(--boots.n - i) * sizeof(*boots.of));
	if (number < 0 && (size_t)-number <= boots.n)
		b = &boots.of[boots.n - (size_t)-number];
	if (!b) {
		r = explain_missing_boot(dir, &boots, number, e);
	} else if (!b->saved_s || b->why[0]) {
		format_boot_time(b->armed_s, when, sizeof(when));
		r = err_set(
			e, -ENOENT, "no data is left from boot %.8s (armed %s): %s", b->id, when,
			b->saved_s ? b->why
				   : "no recorder has saved it; run as root: sonda report --boot");
	} else {
		*ret = *b;
	}
	crash_boots_deinit(&boots);
	return r;
}
