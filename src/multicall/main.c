/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The programs in one file, for a static build (make static). The name by which the file is
 * called chooses the program. Under the name "sonda" or an unknown one, the first argument may name
 * the program; otherwise it is sonda:
 *
 *	sonda record ...	sonda
 *	sondad			sondad, by a link to the file
 *	sonda sondad		sondad
 *
 * The build renames main() of each program, and hides all its other functions.
 */
#include <dlfcn.h>
#include <errno.h>
#include <nss.h>
#include <stddef.h>
#include <string.h>

#include "base/core/mem.h"
#include "base/system/multicall.h"

int sonda_main(int argc, char **argv);
int sonda_probes_main(int argc, char **argv);
int sonda_relay_main(int argc, char **argv);
int sondad_main(int argc, char **argv);

static const struct program {
	const char *name;
	int (*main)(int argc, char **argv);
} programs[] = {
	{"sonda", sonda_main},
	{"sonda-probes", sonda_probes_main},
	{"sonda-relay", sonda_relay_main},
	{"sondad", sondad_main},
};

static const struct program *find_program(const char *path)
{
	const char *name = strrchr(path, '/');

	name = name ? name + 1 : path;
	for (size_t i = 0; i < ARRAY_SIZE(programs); i++)
		if (!strcmp(programs[i].name, name))
			return &programs[i];
	return NULL;
}

bool multicall_contains(const char *name)
{
	return find_program(name) != NULL;
}

/* A static program has no loader: a shared library would bring a second C library with it. Callers
 * do without the library, and log the reason. */
void *dlopen(const char *file, int mode)
{
	errno = ELIBACC;
	return NULL;
}

char *dlerror(void)
{
	return (char *)"a static build cannot load shared libraries";
}

/* The C library loads the other services of /etc/nsswitch.conf as shared libraries, past dlopen()
 * above; libnss_systemd crashes a static program. It contains these itself. */
static void choose_name_services(void)
{
	__nss_configure_lookup("passwd", "files");
	__nss_configure_lookup("group", "files");
	__nss_configure_lookup("initgroups", "files");
	__nss_configure_lookup("hosts", "files dns");
}

int main(int argc, char **argv)
{
	const struct program *called = find_program(argv[0]), *named;

	choose_name_services();
	named = argc > 1 && !strchr(argv[1], '/') ? find_program(argv[1]) : NULL;
	if ((!called || called == &programs[0]) && named)
		return named->main(argc - 1, argv + 1);
	return called ? called->main(argc, argv) : sonda_main(argc, argv);
}
