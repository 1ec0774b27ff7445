/* SPDX-License-Identifier: Apache-2.0 */
/* Names of C++ and Rust, and names that were made to be slow or large. */
#include "base/text/demangle.h"
#include "unit/test.h"

#define ASSERT_NAME(mangled, expected)                                                             \
	({                                                                                         \
		char name_[256];                                                                   \
		size_t len_ = demangle_name(mangled, name_, sizeof(name_));                        \
                                                                                                   \
		assert_int_equal(len_, strlen(expected));                                          \
		assert_string_equal(name_, expected);                                              \
	})

static int start_clock(void **state)
{
	return demangle_start_clock();
}

TEST_GROUP(start_clock, NULL)

TEST(names_of_cplusplus)
{
	ASSERT_NAME("_ZN5store4findERKNSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEEE",
		    "store::find(std::__cxx11::basic_string<char, std::char_traits<char>, "
		    "std::allocator<char> > const&)");
	ASSERT_NAME("_Z3addIiET_S0_S0_", "int add<int>(int, int)");
	ASSERT_NAME("_ZN3FooD2Ev", "Foo::~Foo()");
	ASSERT_NAME("_ZN3Foo3runEv.cold", "Foo::run() [clone .cold]");
	ASSERT_NAME("_ZZN3Foo3runEvENKUlvE_clEv", "Foo::run()::{lambda()#1}::operator()() const");
}

TEST(names_of_rust)
{
	ASSERT_NAME("_ZN4core3fmt9Formatter3pad17h1234567890abcdefE", "core::fmt::Formatter::pad");
	ASSERT_NAME("_ZN60_$LT$alloc..string..String$u20$as$u20$core..fmt..Display$GT$3fmt"
		    "17h0123456789abcdefE",
		    "<alloc::string::String as core::fmt::Display>::fmt");
	ASSERT_NAME("_RNvCs1234_7mycrate3foo", "mycrate::foo");
	ASSERT_NAME("_RNvMs_NtCs1_4main5StoreNtB4_5Store4find", "<main::Store::Store>::find");
}

TEST(other_names_are_not_demangled)
{
	static const char *const names[] = {
		"main", "",	  "_",	    "_Z", "_R", "_start", "__libc_start_main",
		"_ZN",	"_ZN5ab", "_Zebra",
	};
	char name[64];

	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		assert_int_equal(demangle_name(names[i], name, sizeof(name)), 0);
}

TEST(a_name_that_does_not_fit_is_written_without_parameters)
{
	char name[8];

	assert_int_equal(demangle_name("_ZN1a1bEifff", name, sizeof(name)), 4);
	assert_string_equal(name, "a::b");
	assert_int_equal(demangle_name("_ZN8aaaaaaaa1bEifff", name, sizeof(name)), 0);
}

/* Each type is a pair of the one before it, so the name stands for more than 2^36 characters. */
TEST(a_name_that_stands_for_a_large_text_does_not_last)
{
	static const char *const digits = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ";
	char mangled[DEMANGLE_NAME_MAX] = "_Z1fSt4pairIiiES_IS0_S0_E", name[DEMANGLE_NAME_MAX];

	for (int i = 1; i < 36; i++)
		sprintf(mangled + strlen(mangled), "S_IS%c_S%c_E", digits[i], digits[i]);
	for (int i = 0; i < 10; i++)
		assert_int_equal(demangle_name(mangled, name, sizeof(name)), 1); /* f */
	assert_string_equal(name, "f");
}

/* Appends the substitution of that number: S_, S0_ to SZ_, S10_ ... */
static void add_substitution(char *to, unsigned n)
{
	static const char digits[] = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ";

	to += strlen(to);
	if (n == 0)
		sprintf(to, "S_");
	else if (n <= 36)
		sprintf(to, "S%c_", digits[n - 1]);
	else
		sprintf(to, "S%c%c_", digits[(n - 1) / 36], digits[(n - 1) % 36]);
}

/* The demangler searches a type of 2^DEPTH parts for a parameter pack, and prints nothing meanwhile. */
TEST(a_name_that_takes_long_is_given_up)
{
	enum { DEPTH = 50 };
	char mangled[DEMANGLE_NAME_MAX] = "_Z1fIiEvDp";

	for (int i = 0; i < DEPTH; i++)
		strcat(mangled, "St4pairI");
	strcat(mangled, "iiE");
	for (unsigned i = 1; i < DEPTH; i++) {
		add_substitution(mangled, DEPTH + i);
		strcat(mangled, "E");
	}
	ASSERT_NAME(mangled, "f<int>");
	ASSERT_NAME("_Z3addIiET_S0_S0_", "int add<int>(int, int)");
}

TEST(depth_and_length_are_limited)
{
	char mangled[4 * DEMANGLE_NAME_MAX], name[2 * DEMANGLE_NAME_MAX];
	size_t n = (size_t)sprintf(mangled, "_Z1f");

	memset(mangled + n, 'P', DEMANGLE_NAME_MAX);
	strcpy(mangled + DEMANGLE_NAME_MAX - 1, "i");
	(void)demangle_name(mangled, name, sizeof(name));
	memset(mangled + n, 'P', 2 * DEMANGLE_NAME_MAX);
	strcpy(mangled + n + 2 * DEMANGLE_NAME_MAX, "i");
	assert_int_equal(demangle_name(mangled, name, sizeof(name)), 0);
}
