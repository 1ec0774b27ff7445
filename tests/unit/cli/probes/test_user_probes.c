/* SPDX-License-Identifier: Apache-2.0 */
/* Probes by name become lines with offsets. The program that is probed is this test. */
#include <limits.h>

#include "cli/probes/program_place.h"
#include "cli/probes/user_probes.h"
#include "unit/test.h"
#include "usdt_note.h"

#if defined(__x86_64__)
#define FIRST "%di"
#define SECOND "%si"
#define IN_FIRST "%%edi"
#define IN_FIRST_LONG "%%rdi"
#define CONSTANT "$"
#elif defined(__aarch64__)
#define FIRST "%x0"
#define SECOND "%x1"
#define IN_FIRST "w0"
#define IN_FIRST_LONG "x0"
#define CONSTANT ""
#endif

__attribute__((noinline, used)) static int function_to_probe(int x)
{
	__asm__ volatile(USDT_NOTE("place", "4@" IN_FIRST) USDT_NOTE("place", "-4@" CONSTANT "5")
				 USDT_NOTE("place", "8@" IN_FIRST_LONG)
					 USDT_NOTE("other", "8@nonsense 4@" IN_FIRST)
			 :
			 :
			 : "memory");
	return x + 1;
}

__attribute__((noinline, used)) static int load(int x) __asm__("_ZN2ns6Loader4loadEPKci");
static int load(int x)
{
	return x + 2;
}

__attribute__((noinline, used)) static int over_int(int x) __asm__("_ZN2ns4overEi");
static int over_int(int x)
{
	return x + 3;
}

__attribute__((noinline, used)) static int over_char(int x) __asm__("_ZN2ns4overEc");
static int over_char(int x)
{
	return x + 4;
}

/* The linker keeps what a test refers to. */
static void *volatile kept[] = {(void *)function_to_probe, (void *)load, (void *)over_int,
				(void *)over_char};

static char self[PATH_MAX];

static void find_self(void)
{
	for (size_t i = 0; i < ARRAY_SIZE(kept); i++)
		assert_non_null(kept[i]);
	assert_true(readlink("/proc/self/exe", self, sizeof(self) - 1) > 0);
}

/* Replaces "SELF" in a text by the path of this test. */
static void compare(const char *line, const char *pattern)
{
	struct strbuf b = {0};

	for (const char *p = pattern; *p; p++)
		if (!strncmp(p, "SELF", 4)) {
			strbuf_puts(&b, self);
			p += 3;
		} else {
			strbuf_putc(&b, *p);
		}
	if (!str_glob(b.s, line))
		fail_msg("%s is not %s", line, b.s);
	strbuf_deinit(&b);
}

static void add(struct user_probes *u, enum user_probe_kind kind, const char *text)
{
	char whole[PATH_MAX + 256];
	struct err_text e;
	const char *at = strstr(text, "SELF");

	snprintf(whole, sizeof(whole), "%.*s%s%s", (int)(at - text), text, self, at + 4);
	if (user_probes_add(u, kind, whole, &e))
		fail_msg("%s", e.text);
}

static void check(enum user_probe_kind kind, const char *text, const char *line)
{
	struct user_probes u = {0};

	find_self();
	add(&u, kind, text);
	assert_int_equal(u.n, 1);
	compare(u.lines[0], line);
	user_probes_deinit(&u);
}

TEST(functions)
{
	check(USER_PROBE_CALL, "SELF:function_to_probe",
	      "p:probe_test_user_probes/function_to_probe SELF:0x*[0-9a-f]");
	check(USER_PROBE_CALL, "SELF:function_to_probe(int x)",
	      "p:probe_test_user_probes/function_to_probe SELF:0x* x=" FIRST ":s32");
	check(USER_PROBE_RETURN, "SELF:function_to_probe(int)",
	      "r:probe_test_user_probes/function_to_probe__return SELF:0x* ret=$retval:s32");
	check(USER_PROBE_CALL, "SELF:function_to_probe%return(int)",
	      "r:probe_test_user_probes/function_to_probe__return SELF:0x* ret=$retval:s32");
	check(USER_PROBE_SPAN, "SELF:ns::Loader::load(str name, int n) -> int",
	      "s:probe_test_user_probes/ns_Loader_load SELF:0x* name=+0(" FIRST "):string n=" SECOND
	      ":s32 -> ret=$retval:s32");
	check(USER_PROBE_SPAN, "SELF:_ZN2ns6Loader4loadEPKci",
	      "s:probe_test_user_probes/_ZN2ns6Loader4loadEPKci SELF:0x*[0-9a-f]");
	check(USER_PROBE_CALL, "SELF:ns::over(char)",
	      "p:probe_test_user_probes/*over* SELF:0x* arg1=*:s8");
}

TEST(names_and_offsets)
{
	check(USER_PROBE_CALL, "mine=SELF:function_to_probe",
	      "p:probe_test_user_probes/mine SELF:0x*[0-9a-f]");
	check(USER_PROBE_CALL, "grp/mine=SELF:function_to_probe", "p:grp/mine SELF:0x*[0-9a-f]");
	check(USER_PROBE_CALL, "x=SELF:0x1160", "p:probe_test_user_probes/x SELF:0x1160");
	check(USER_PROBE_CALL, "x=SELF:0x1160+0x10", "p:probe_test_user_probes/x SELF:0x1170");
	check(USER_PROBE_CALL, "SELF:0x1160", "p:probe_test_user_probes/_0x1160 SELF:0x1160");
	check(USER_PROBE_CALL, "SELF:function_to_probe+4(n=" FIRST ")",
	      "p:probe_test_user_probes/function_to_probe SELF:0x* n=" FIRST);
}

TEST(lines_of_the_kernel)
{
	check(USER_PROBE_CALL, "p:mine SELF:0x1160 a=%di", "p:mine SELF:0x1160 a=%di");
	check(USER_PROBE_CALL, "r:g/back SELF:function_to_probe v=$retval",
	      "r:g/back SELF:0x* v=$retval");
	check(USER_PROBE_CALL, "s SELF:function_to_probe -> $retval", "s SELF:0x* -> $retval");
}

TEST(equal_names_get_numbers)
{
	struct user_probes u = {0};

	find_self();
	add(&u, USER_PROBE_CALL, "SELF:function_to_probe");
	add(&u, USER_PROBE_CALL, "SELF:function_to_probe+1");
	add(&u, USER_PROBE_CALL, "SELF:function_to_probe+2");
	compare(u.lines[1], "p:probe_test_user_probes/function_to_probe_2 *");
	compare(u.lines[2], "p:probe_test_user_probes/function_to_probe_3 *");
	user_probes_deinit(&u);
}

TEST(static_probes)
{
	struct user_probes u = {0};

	find_self();
	add(&u, USER_PROBE_STATIC, "SELF:sonda_test:place");
	assert_int_equal(u.n, 3);
	compare(u.lines[0], "p:sonda_test/place SELF:0x*(0x*) arg1=" FIRST ":u32");
	/* A constant takes the sign of the others; another size is another event. */
	compare(u.lines[1], "p:sonda_test/place SELF:0x*(0x*) arg1=\\\\5:u32");
	compare(u.lines[2], "p:sonda_test/place_2 SELF:0x*(0x*) arg1=" FIRST ":u64");
	user_probes_deinit(&u);
	add(&u, USER_PROBE_STATIC, "SELF:other");
	assert_int_equal(u.n, 1);
	compare(u.lines[0], "p:sonda_test/other SELF:0x*(0x*) arg2=" FIRST ":u32");
	user_probes_deinit(&u);
	add(&u, USER_PROBE_STATIC, "g/mine=SELF:sonda_test:other(_, int value)");
	compare(u.lines[0], "p:g/mine SELF:0x*(0x*) value=" FIRST ":s32");
	user_probes_deinit(&u);
	add(&u, USER_PROBE_STATIC, "SELF:sonda_test:*");
	assert_int_equal(u.n, 4);
	user_probes_deinit(&u);
}

static void refused(enum user_probe_kind kind, const char *text, const char *why)
{
	char whole[PATH_MAX + 256];
	struct user_probes u = {0};
	const char *at = strstr(text, "SELF");
	struct err_text e = {""};

	find_self();
	if (at)
		snprintf(whole, sizeof(whole), "%.*s%s%s", (int)(at - text), text, self, at + 4);
	else
		snprintf(whole, sizeof(whole), "%s", text);
	assert_true(user_probes_add(&u, kind, whole, &e) < 0);
	assert_int_equal(u.n, 0);
	if (!strstr(e.text, why))
		fail_msg("%s: %s", whole, e.text);
	user_probes_deinit(&u);
}

TEST(probes_that_are_refused)
{
	refused(USER_PROBE_CALL, "SELF", "expected PROGRAM:FUNCTION");
	refused(USER_PROBE_CALL, ":main", "program is missing");
	refused(USER_PROBE_CALL, "SELF:", "function is missing");
	refused(USER_PROBE_CALL, "no-such-program:main", "neither a program in PATH nor a library");
	refused(USER_PROBE_CALL, "/no/such:main", "no such file");
	refused(USER_PROBE_CALL, "/etc/passwd:main", "not an ELF file");
	refused(USER_PROBE_CALL, "SELF:function_to_prbe", "did you mean function_to_probe");
	refused(USER_PROBE_CALL, "SELF:ns::over", "2 functions have this name: ns::over(");
	refused(USER_PROBE_CALL, "SELF:function_to_probe+4(int x)", "name the registers");
	refused(USER_PROBE_CALL, "SELF:function_to_probe(foo x)", "no known type");
	refused(USER_PROBE_CALL, "SELF:function_to_probe -> int", "only a span can have a result");
	refused(USER_PROBE_SPAN, "SELF:function_to_probe%return",
		"already includes the call and the return");
	refused(USER_PROBE_CALL, "SELF:12ab", "neither a number nor a function");
	refused(USER_PROBE_CALL, "p:mine", "expected 'p:NAME FILE:OFFSET'");
	refused(USER_PROBE_CALL, "p:mine SELF:function_to_prbe", "did you mean function_to_probe");
	refused(USER_PROBE_STATIC, "SELF:sonda_test:plaec", "did you mean sonda_test:place");
	refused(USER_PROBE_STATIC, "SELF:zzz:zzzzzzzz", "lists all 4");
	refused(USER_PROBE_STATIC, "SELF:place(int, int)", "has 1 argument");
	refused(USER_PROBE_STATIC, "SELF:place(n=%di)", "give only types");
	refused(USER_PROBE_STATIC, "/bin/true:place", "no static probes");
}

TEST(libraries_are_found_by_name)
{
	char path[PATH_MAX];
	struct err_text e;

	assert_int_equal(program_place_find("libc.so.6", path, &e), 0);
	assert_true(path[0] == '/' && strstr(path, "libc"));
	assert_int_equal(program_place_find("libc", path, &e), 0);
	assert_non_null(strstr(path, "/libc.so."));
	assert_int_equal(program_place_find("sh", path, &e), 0);
	assert_int_equal(path[0], '/');
	assert_int_equal(program_place_find("lib*", path, &e), -ENOENT);
}
