/* SPDX-License-Identifier: Apache-2.0 */
/* Arguments as programmers write them, and as static probes have them, become those of the kernel. */
#include <elf.h>

#include "cli/probes/probe_args.h"
#include "cli/probes/usdt_args.h"
#include "unit/test.h"

static struct err_text e;

static char *call(const char *text, uint32_t machine, bool is_return)
{
	static char out[1024];
	struct probe_arg args[PROBE_ARGS_MAX];
	struct strbuf b = {0};
	size_t n;
	int r = probe_args_parse((struct span){text, strlen(text)}, machine, args, &n, &e);

	if (!r)
		r = is_return ? probe_args_put_result(&b, args, n, &e)
			      : probe_args_put_call(&b, args, n, machine, &e);
	snprintf(out, sizeof(out), "%s", r ? e.text : b.s ?: "");
	strbuf_deinit(&b);
	return out;
}

TEST(arguments_of_calls)
{
	static const struct {
		const char *text, *x86, *arm;
	} rows[] = {
		{"", "", ""},
		{"void", "", ""},
		{"int fd", " fd=%di:s32", " fd=%x0:s32"},
		{"int, str", " arg1=%di:s32 arg2=+0(%si):string",
		 " arg1=%x0:s32 arg2=+0(%x1):string"},
		{"const char *path , unsigned int flags", " path=+0(%di):string flags=%si:u32",
		 " path=+0(%x0):string flags=%x1:u32"},
		{"struct file *f, void *p, char **argv", " f=%di:x64 p=%si:x64 argv=%dx:x64",
		 " f=%x0:x64 p=%x1:x64 argv=%x2:x64"},
		{"unsigned long long x, size_t", " x=%di:u64 arg2=%si:u64",
		 " x=%x0:u64 arg2=%x1:u64"},
		{"_, _, u8 third", " third=%dx:u8", " third=%x2:u8"},
		{"int a, n=%cx:u8, int b", " a=%di:s32 n=%cx:u8 b=%si:s32",
		 " a=%x0:s32 n=%cx:u8 b=%x1:s32"},
		{"%di, +8(%sp):u64", " %di +8(%sp):u64", " %di +8(%sp):u64"},
		{"s=+0(+8(%di)):string", " s=+0(+8(%di)):string", " s=+0(+8(%di)):string"},
		{"_,_,_,_,_,_,long seventh,str eighth",
		 " seventh=+8(%sp):s64 eighth=+0(+16(%sp)):string",
		 " seventh=%x6:s64 eighth=+0(%x7):string"},
		{"_,_,_,_,_,_,_,_,int ninth", " ninth=+24(%sp):s32", " ninth=+0(%sp):s32"},
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		assert_string_equal(call(rows[i].text, EM_X86_64, false), rows[i].x86);
		assert_string_equal(call(rows[i].text, EM_AARCH64, false), rows[i].arm);
	}
}

TEST(arguments_of_functions_of_the_kernel)
{
	const uint32_t m = PROBE_MACHINE_KERNEL;

	assert_string_equal(call("_, size_t count, pos", m, false), " count=$arg2:u64 pos");
	assert_string_equal(call("int dfd, const char __user *name, str s, ustr u", m, false),
			    " dfd=$arg1:s32 name=+0($arg2):ustring s=+0($arg3):string "
			    "u=+0($arg4):ustring");
	assert_string_equal(call("$arg*", m, false), " $arg*");
	assert_string_equal(call("mode=$arg3:x32, u64 x", m, false), " mode=$arg3:x32 x=$arg1:u64");
	assert_non_null(strstr(call("double", m, false), "cannot read"));
}

TEST(results)
{
	assert_string_equal(call("int", EM_X86_64, true), " ret=$retval:s32");
	assert_string_equal(call("ssize_t n", EM_X86_64, true), " n=$retval:s64");
	assert_string_equal(call("str", EM_X86_64, true), " ret=+0($retval):string");
	assert_string_equal(call("", EM_X86_64, true), "");
	assert_string_equal(call("v=$retval:x8", EM_X86_64, true), " v=$retval:x8");
	assert_non_null(
		strstr(call("int, int", EM_X86_64, true), "only the return value is available"));
}

TEST(arguments_that_are_refused)
{
	assert_non_null(strstr(call("double x", EM_X86_64, false), "cannot read a double"));
	assert_non_null(strstr(call("foo x", EM_X86_64, false), "no known type"));
	assert_non_null(strstr(call("struct stat s", EM_X86_64, false), "no known type"));
	assert_non_null(strstr(call("int a,,int b", EM_X86_64, false), "empty"));
	assert_non_null(strstr(call("int a[2]", EM_X86_64, false), "not an argument"));
	assert_non_null(strstr(call("int a b c d e", EM_X86_64, false), "not an argument"));
	assert_non_null(strstr(call("int a", EM_RISCV, false), "name the registers"));
	assert_non_null(
		strstr(call("a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a",
			    EM_X86_64, false),
		       "no known type"));
}

static void check_usdt(const char *text, uint32_t machine, const char *expected)
{
	struct usdt_arg args[USDT_ARGS_MAX];
	size_t n = usdt_args_parse(text, machine, args);
	struct strbuf b = {0};

	for (size_t i = 0; i < n; i++)
		strbuf_printf(&b, "%s%s:%s", i ? " " : "", args[i].fetch[0] ? args[i].fetch : "-",
			      args[i].type.name ?: "-");
	assert_string_equal(b.s ?: "", expected);
	strbuf_deinit(&b);
}

TEST(arguments_of_static_probes)
{
	check_usdt("", EM_X86_64, "");
	check_usdt("8@%rdi -4@%eax 1@%sil -2@%r8w 4@%r15d -1@%al", EM_X86_64,
		   "%di:u64 %ax:s32 %si:u8 %r8:s16 %r15:u32 %ax:s8");
	check_usdt("8@(%rax) -4@-20(%rbp) 8@0x10(%r12)  4@$-7 8@$0x10", EM_X86_64,
		   "+0(%ax):u64 -20(%bp):s32 +16(%r12):u64 \\-7:u32 \\16:u64");
	/* What the kernel cannot read keeps its place. */
	check_usdt("8@%rdi 8f@%xmm0 8@(%rax,%rbx,8) 8@sym(%rip) 8@sym+4(%rip) 4@%ah 4@%esp",
		   EM_X86_64, "%di:u64 -:- -:u64 -:u64 -:u64 -:u32 %sp:u32");
	check_usdt("8@x0 -4@w30 4@[sp, 12] 8@[x19] 4@5 8@[x1,#-8] 8@sp", EM_AARCH64,
		   "%x0:u64 %x30:s32 +12(%sp):u32 +0(%x19):u64 \\5:u32 -8(%x1):u64 %sp:u64");
	check_usdt("8@[x0, x1] 8@x31 8@v0", EM_AARCH64, "-:u64 -:u64 -:u64");
	check_usdt("8@%rdi", EM_RISCV, "-:u64");
	check_usdt("9@%rdi 8%rdi @ 8@ -@x 3@%rdi 8@%rdi)", EM_X86_64,
		   "-:- -:- -:- -:u64 -:- -:- -:u64");
	check_usdt("8@$99999999999999999999 8@99999999999999999999(%rax)", EM_X86_64,
		   "-:u64 -:u64");
	/* More than twelve, and one that is very long. */
	check_usdt("1@$1 1@$1 1@$1 1@$1 1@$1 1@$1 1@$1 1@$1 1@$1 1@$1 1@$1 1@$1 1@$1", EM_X86_64,
		   "\\1:u8 \\1:u8 \\1:u8 \\1:u8 \\1:u8 \\1:u8 \\1:u8 \\1:u8 \\1:u8 \\1:u8 \\1:u8 "
		   "\\1:u8");
}
