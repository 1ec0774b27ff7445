# SPDX-License-Identifier: Apache-2.0
#
# sonda: make help lists the targets. Everything is built under $(B).

B ?= build
PREFIX ?= /usr/local
# Of libraries, below PREFIX; Debian has lib/x86_64-linux-gnu.
LIBDIR ?= lib
DESTDIR ?=
CC ?= gcc
CLANG ?= clang
# The tools of another architecture, with Debian's libraries of it: CROSS=aarch64-linux-gnu- (tests/kernels/arm64.sh).
CROSS ?=
SAN ?=
V ?=

ifeq ($(V),)
Q := @
endif

# ---- what it takes from Debian -------------------------------------------------------------------

BUILD_PACKAGES := gcc libc6-dev pkg-config libtracefs-dev libtraceevent-dev libprotobuf-c-dev \
	protobuf-c-compiler protobuf-compiler libevent-dev uthash-dev libseccomp-dev libcap-ng-dev zlib1g-dev libzstd-dev \
	libsqlite3-dev libedit-dev libjson-c-dev libelf-dev libdw-dev libiberty-dev liblzma-dev
# The build does without, see EBPF.
EBPF_PACKAGES := clang llvm libbpf-dev
TEST_PACKAGES := libcmocka-dev linux-perf procps xz-utils elfutils python3 man-db mandoc tmux less iproute2 libcap2-bin zsh fish
DEB_PACKAGES := build-essential debhelper libcmocka-dev lintian
TEST_PACKAGES += abigail-tools
COST_PACKAGES := valgrind
PAGE_PACKAGES := chromium fonts-dejavu-core
DISTRO_TEST_PACKAGES := debootstrap
KERNEL_TEST_PACKAGES := qemu-system-x86 busybox-static cpio kmod xz-utils

ifneq ($(CROSS),)
CC := $(CROSS)gcc
PKG_CONFIG := PKG_CONFIG_LIBDIR=/usr/lib/$(CROSS:%-=%)/pkgconfig:/usr/share/pkgconfig pkg-config
endif
PKG_CONFIG ?= pkg-config
AR := $(CROSS)ar
LD := $(CROSS)ld
OBJCOPY := $(CROSS)objcopy

PKGS := libtracefs libtraceevent libprotobuf-c libevent_core libseccomp libcap-ng
PKG_CFLAGS = $(shell $(PKG_CONFIG) --cflags $(PKGS) 2>/dev/null)

# ---- flags ---------------------------------------------------------------------------------------

OPT ?= -O2 -g
# A compiler that this tree was not tried with may warn of more, and must not stop a user. Warnings are errors in
# check-all and lint, and with WERROR=-Werror.
WERROR ?= $(if $(filter check-all lint,$(MAKECMDGOALS)),-Werror)
export WERROR
# protobuf-c's INIT macros name every field, deprecated ones too, and clang then warns of their users. A callback has
# the parameters of its type, whether it uses them or not.
WARN := -Wall -Wextra -Wshadow -Wmissing-prototypes -Wstrict-prototypes -Wvla $(WERROR) \
	-Wno-deprecated-declarations -Wno-unused-parameter
# Makes it harder to turn a bug into an attack; tests/rules/test_hardening.sh checks it. What the compiler or the
# architecture lacks is left out; CFLAGS and LDFLAGS of the caller come later and win.
compiler_has = $(shell $(CC) -Werror $(1) -c -o /dev/null -xc /dev/null 2>/dev/null && echo $(1))
linker_has = $(shell echo 'int main(void) { return 0; }' | $(CC) -Werror $(1) -o /dev/null -xc - 2>/dev/null && echo $(1))
CONTROL_FLOW := $(or $(call compiler_has,-fcf-protection=full),$(call compiler_has,-mbranch-protection=standard))
# It needs an optimizing compiler, sanitizers replace it, and a level of the caller's must not be defined twice.
FORTIFY = $(if $(SAN)$(filter -O0,$(OPT) $(CFLAGS))$(findstring _FORTIFY_SOURCE,$(CFLAGS)),,-U_FORTIFY_SOURCE -D_FORTIFY_SOURCE=3)
HARDEN = $(PIE) -fstack-protector-strong $(STACK_CLASH) $(CONTROL_FLOW) $(FORTIFY)
PIE := -fPIE
STACK_CLASH := $(call compiler_has,-fstack-clash-protection)
# Reproducible builds, which set SOURCE_DATE_EPOCH, are the same in every directory. Others keep the directory's name, which
# debuggers look for.
PREFIX_MAP = $(if $(SOURCE_DATE_EPOCH),-ffile-prefix-map=$(CURDIR)=.)
SAN_FLAGS = $(if $(SAN),-fsanitize=$(SAN) -fno-omit-frame-pointer -fno-sanitize-recover=all)
CFLAGS_ALL = -std=gnu11 -D_GNU_SOURCE $(OPT) $(PREFIX_MAP) $(HARDEN) $(SAN_FLAGS) -fno-strict-aliasing \
	-ffunction-sections -fdata-sections -iquote . -Isrc -I$(B) -I$(B)/gen/pb $(PKG_CFLAGS) $(CFLAGS)
LDFLAGS_ALL = $(SAN_FLAGS) -Wl,--gc-sections -Wl,--as-needed $(PIE) -pie -Wl,-z,relro,-z,now,-z,noexecstack $(LDFLAGS)

# ---- layers: what each library may use, and in which order it is linked ---------------------------

LAYERS := base wire config client service relay subjects symbols ftrace stacks procfs ebpf probes analyze import cli

NEED_base :=
NEED_wire := base
NEED_config := wire base
NEED_client := config wire base
NEED_service := config wire base
NEED_relay := client config wire base
NEED_subjects := config wire base
NEED_symbols := wire base
NEED_ftrace := symbols subjects client config wire base
NEED_stacks := ebpf symbols subjects client config wire base
NEED_procfs := subjects client config wire base
NEED_ebpf := subjects client config wire base
NEED_probes := ftrace stacks procfs ebpf symbols subjects client config wire base
NEED_analyze := config wire base
NEED_import := ftrace stacks ebpf symbols subjects client config wire base
NEED_cli := analyze import ftrace stacks ebpf symbols subjects client config wire base

LIBS_base := -levent_core -lcap-ng -lseccomp -liberty -lm
LIBS_config := -lprotobuf-c
LIBS_service := -lz -lzstd
LIBS_analyze := -lz -lzstd -lsqlite3
LIBS_import := -lz -lzstd
# The server of sonda open: evhttp is in every build of libevent. libmicrohttpd needs GnuTLS, which Debian cannot link
# statically, and which sonda would load at each start.
LIBS_cli := -levent_extra -ledit -ljson-c
LIBS_ftrace := -ltracefs -ltraceevent
LIBS_symbols := -lelf -llzma

# Programs of the kernel are compiled by clang and loaded by libbpf. Without either all else is built, and
# linux.ebpf_counters says why it records nothing. EBPF=no leaves them out, too.
EBPF ?= $(shell $(PKG_CONFIG) --exists 'libbpf >= 1.0' 2>/dev/null && \
	echo 'int x;' | $(CLANG) -target bpf -xc -c -o /dev/null - 2>/dev/null && echo yes)
LIBS_ebpf := $(if $(filter yes,$(EBPF)),-lbpf) -lm

# Libraries and system libraries of a layer and all below it.
libs = $(foreach l,$(1) $(NEED_$(1)),$(B)/lib$(l).a)
syslibs = $(foreach l,$(1) $(NEED_$(1)),$(LIBS_$(l))) -lprotobuf-c

# ---- generated sources ---------------------------------------------------------------------------

PROTOS := $(sort $(shell find protos -name '*.proto'))
# Rich and rare messages go through protobuf-c; trace data through src/wire.
PB_PROTOS := $(filter protos/ipc/% protos/common/% protos/config/% protos/protovm/%,$(PROTOS))
FTRACE_PROTOS := $(filter protos/trace/ftrace/%,$(PROTOS))
PB_C := $(PB_PROTOS:protos/%.proto=$(B)/gen/pb/%.pb-c.c)
PB_O := $(PB_C:.c=.o)

GEN_HEADERS := $(B)/gen/pb.stamp $(B)/gen/fields.h $(B)/gen/ftrace_names.h $(B)/gen/ftrace_event_fields.h \
	$(B)/gen/ftrace_event_rows.h $(B)/gen/message_rows.h
BPF_SRC := $(wildcard bpf/*.bpf.c)
BPF_O := $(BPF_SRC:%.c=$(B)/gen/%.o)
GEN_EBPF := $(if $(filter yes,$(EBPF)),$(B)/gen/bpf/objects.o)
# Examples for people who write their own; nothing links them.
BPF_EXAMPLES := $(if $(filter yes,$(EBPF)),$(patsubst %.c,$(B)/gen/%.o,$(wildcard bpf/examples/*.bpf.c)))
# The presets that the program has in it, for where none are installed.
PRESETS := $(sort $(wildcard share/sonda/presets/*.cfg))
COMMENTED_PROTOS := $(sort $(wildcard $(addprefix protos/config/,ftrace/*.proto linux/*.proto \
	process_stats/*.proto sys_stats/*.proto system_info/*.proto track_event/*.proto)))
GEN_CLI := $(B)/gen/presets.o $(B)/gen/field_comments.o $(B)/gen/diff_page/parts.o
# The page of sonda report --html: its program is one script, in the order of this list.
PAGE := src/analyze/page
PAGE_JS := $(addprefix $(PAGE)/,$(addsuffix .js,numbers columns lanes model stacks colours view rows arrows draw details flame \
	tables search input main))
# Statements of the C file beside them.
SQL_STATEMENTS := src/analyze/report/chosen.sql src/analyze/report/machines.sql src/cli/diff/diff_output.sql
# The reports of sonda report: their texts and statements. The first file is what they share.
REPORTS := src/analyze/report/reports.sql $(filter-out %/reports.sql $(SQL_STATEMENTS),$(sort $(wildcard src/analyze/report/*.sql)))
# The metrics of sonda diff, in the same form.
METRICS := src/analyze/report/reports.sql $(sort $(wildcard src/analyze/diff/*.sql))
# Views of sonda sql, and the modules of INCLUDE PERFETTO MODULE.
SQL_TEXTS := src/analyze/tables/views.sql $(sort $(wildcard src/analyze/modules/*.sql))
# tables.sql first: what the findings share.
FINDINGS := src/analyze/findings/tables.sql $(filter-out %/tables.sql,$(sort $(wildcard src/analyze/findings/*.sql)))
GEN_ANALYZE := $(B)/gen/page/parts.o $(B)/gen/finding_texts.o $(B)/gen/reports.o $(B)/gen/diff_metrics.o $(B)/gen/sql_texts.o
GEN_FTRACE := $(if $(wildcard tools/ftrace_events.awk),$(B)/gen/ftrace_events.o)

# ---- sources by directory ---------------------------------------------------------------------------

EBPF_PURE := counter top_n errors process_selection ebpf_config thresholds members_groups members_packets members_poll members_source \
	calls_config calls_packets calls_source
EBPF_OUT := $(if $(filter yes,$(EBPF)),src/ebpf/ebpf_none.c src/stacks/unwind/unwind_maps_none.c,$(filter-out \
	$(foreach f,$(EBPF_PURE) members_program_none calls_program_none,%/$(f).c) src/ebpf/ebpf_none.c,$(wildcard src/ebpf/*.c src/ebpf/*/*.c)) src/stacks/unwind/unwind_maps.c)
EBPF_OUT += src/stacks/samples/sample_program$(if $(filter yes,$(EBPF)),_none).c
EBPF_OUT += src/ebpf/calls/calls_program$(if $(filter yes,$(EBPF)),_none).c
EBPF_OUT += src/stacks/waits/waits_program$(if $(filter yes,$(EBPF)),_none).c
EBPF_OUT += src/ebpf/members/members_program$(if $(filter yes,$(EBPF)),_none).c
layer_src = $(filter-out %/main.c $(EBPF_OUT),$(wildcard src/$(1)/*.c src/$(1)/*/*.c))
layer_obj = $(patsubst src/%.c,$(B)/obj/%.o,$(call layer_src,$(1)))

PROGRAMS := $(if $(wildcard src/service/main.c),$(B)/bin/sondad) \
	$(if $(wildcard src/probes/main.c),$(B)/bin/sonda-probes) \
	$(if $(wildcard src/relay/main.c),$(B)/bin/sonda-relay) \
	$(if $(wildcard src/cli/main.c),$(B)/bin/sonda)

# Made from what the programs print for --help, so a cross build names a directory with programs of the same sources that run
# here, or has no manual.
MANUAL := $(if $(CROSS),$(if $(HELP_FROM),$(B)/man/stamp),$(B)/man/stamp)

LIBSONDA := $(if $(wildcard src/lib/api/init.c),$(B)/lib/libsonda.so $(B)/lib/libsonda.a \
	$(B)/lib/libsonda-service.so $(B)/lib/libsonda-service.a)

UNIT_SRC := $(wildcard tests/unit/*/test_*.c tests/unit/*/*/test_*.c)
# Of parts that are left out there is nothing to test.
EBPF_TESTS_PURE := none counter histogram top_n errors ebpf_config thresholds
EBPF_TESTS_OUT := $(if $(filter yes,$(EBPF)),,$(filter-out \
	$(foreach f,$(EBPF_TESTS_PURE),%/test_$(f).c),$(wildcard tests/unit/ebpf/test_*.c tests/unit/ebpf/*/test_*.c)))
EBPF_TESTS_OUT += $(if $(filter yes,$(EBPF)),,tests/unit/stacks/test_sample_program.c \
	tests/unit/stacks/waits/test_waits_program.c)
UNIT_SRC := $(filter-out $(EBPF_TESTS_OUT),$(UNIT_SRC))
UNIT := $(patsubst tests/unit/%.c,$(B)/tests/unit/%,$(UNIT_SRC))
HELPER_SRC := $(wildcard tests/system/*.c tests/root/*.c tests/interop/*.c tests/soak/*.c tests/fuzz/live/*.c bench/*.c)
HELPER_SRC := $(filter-out $(if $(filter yes,$(EBPF)),,bench/ebpf_% tests/interop/ebpf_% tests/root/ebpf_%),$(HELPER_SRC))
HELPERS := $(patsubst %.c,$(B)/%,$(HELPER_SRC))
FUZZ_SRC := $(wildcard tests/fuzz/fuzz_*.c)
# Each fuzz target without a fuzzer, for the inputs of tests/fuzz/corpus.
REPLAYS := $(FUZZ_SRC:tests/fuzz/fuzz_%.c=$(B)/tests/fuzz/replay_%)

# On as many processors as there are, unless the caller said how many.
SUBMAKE = $(MAKE) --no-print-directory $(if $(filter -j% --jobserver%,$(MAKEFLAGS)),,-j$(shell nproc))

.DEFAULT_GOAL := all
.SECONDARY:
.DELETE_ON_ERROR:

##@ Build
all: ## build the programs into build/bin; installs nothing
	$(Q)tools/deps.sh --check $(BUILD_PACKAGES)
	+$(Q)$(SUBMAKE) programs
programs: $(PROGRAMS) $(patsubst src/%.c,$(B)/obj/%.o,$(wildcard src/multicall/*.c)) $(LIBSONDA) $(BPF_EXAMPLES) $(MANUAL)
	$(if $(filter yes no,$(EBPF)),,@echo "  NOTE    without eBPF counters: they need clang and libbpf-dev 1.0 (make deps)")
	$(if $(MANUAL),,@echo "  NOTE    without the manual and completion: HELP_FROM=DIR names programs that run here")

deps: ## install the Debian packages that are missing
	$(Q)tools/deps.sh $(BUILD_PACKAGES) $(EBPF_PACKAGES) $(TEST_PACKAGES) $(KERNEL_TEST_PACKAGES)
deps-build:
	$(Q)tools/deps.sh $(BUILD_PACKAGES) $(EBPF_PACKAGES)
deps-cost:
	$(Q)tools/deps.sh $(COST_PACKAGES)
deps-check:
	$(Q)tools/deps.sh $(BUILD_PACKAGES) $(EBPF_PACKAGES) $(TEST_PACKAGES)

# $(B) is on the include path twice, so that generated headers have the same prefix in every build.
$(B)/gen/pb.stamp: $(PB_PROTOS) Makefile
	@echo "  GEN     $(B)/gen/pb"
	$(Q)rm -rf $(B)/gen/pb $(B)/gen/proto && mkdir -p $(B)/gen/pb $(B)/gen/proto
	@# A short package name for C: Pb__TraceConfig.
	$(Q)for f in $(PB_PROTOS:protos/%=%); do mkdir -p $(B)/gen/proto/$${f%/*}; \
		sed 's|^package .*|package pb;|' protos/$$f >$(B)/gen/proto/$$f; done
	$(Q)protoc -I$(B)/gen/proto --c_out=$(B)/gen/pb $(PB_PROTOS:protos/%=%)
	$(Q)touch $@
$(PB_C): $(B)/gen/pb.stamp ;

$(B)/gen/fields.h: tools/field_numbers.awk $(PROTOS)
	@echo "  GEN     $@"
	$(Q)mkdir -p $(@D)
	$(Q)awk -f $< $(PROTOS) >$@

# For tests, which write and read messages as text.
$(B)/gen/message_rows.h: tools/field_numbers.awk $(PROTOS)
	@echo "  GEN     $@"
	$(Q)mkdir -p $(@D)
	$(Q)awk -v rows=1 -f $< $(PROTOS) >$@

$(B)/gen/ftrace_names.h: tools/ftrace_names.awk $(FTRACE_PROTOS)
	@echo "  GEN     $@"
	$(Q)mkdir -p $(@D)
	$(Q)awk -f $< $(FTRACE_PROTOS) >$@

$(B)/gen/ftrace_event_fields.h $(B)/gen/ftrace_event_rows.h: tools/ftrace_fields.awk $(FTRACE_PROTOS)
	@echo "  GEN     $@"
	$(Q)mkdir -p $(@D)
	$(Q)awk -v list=$(if $(findstring rows,$@),events,fields) -f $< $(FTRACE_PROTOS) >$@

$(B)/gen/ftrace_events.c: tools/ftrace_events.awk $(FTRACE_PROTOS)
	@echo "  GEN     $@"
	$(Q)mkdir -p $(@D)
	$(Q)LC_ALL=C awk -f $< $(FTRACE_PROTOS) >$@

$(B)/gen/presets.c: tools/built_in_presets.awk $(PRESETS) share/sonda/presets
	@echo "  GEN     $@"
	$(Q)mkdir -p $(@D)
	$(Q)LC_ALL=C awk -f $< $(PRESETS) >$@

$(B)/gen/reports.c: tools/reports.awk $(REPORTS) src/analyze/report
	@echo "  GEN     $@"
	$(Q)mkdir -p $(@D)
	$(Q)LC_ALL=C awk -v table=reports -f $< $(REPORTS) >$@ || { rm -f $@; exit 1; }
$(B)/gen/diff_metrics.c: tools/reports.awk $(METRICS) src/analyze/diff
	@echo "  GEN     $@"
	$(Q)mkdir -p $(@D)
	$(Q)LC_ALL=C awk -v table=diff_metrics -f $< $(METRICS) >$@ || { rm -f $@; exit 1; }
$(B)/gen/reports.o $(B)/gen/diff_metrics.o: src/analyze/report/report.h

$(B)/gen/finding_texts.c: tools/finding_texts.awk $(FINDINGS) src/analyze/findings
	@echo "  GEN     $@"
	$(Q)mkdir -p $(@D)
	$(Q)LC_ALL=C awk -f $< $(FINDINGS) >$@
$(B)/gen/finding_texts.o: src/analyze/findings/finding.h

$(B)/gen/sql_texts.c: tools/sql_texts.awk $(SQL_TEXTS)
	@echo "  GEN     $@"
	$(Q)mkdir -p $(@D)
	$(Q)LC_ALL=C awk -f $< $(SQL_TEXTS) >$@
$(B)/gen/sql_texts.o: src/analyze/tables/table_module.h

$(B)/gen/sql/%.h: src/%.sql tools/sql_statements.awk
	@echo "  GEN     $@"
	$(Q)mkdir -p $(@D)
	$(Q)LC_ALL=C awk -f tools/sql_statements.awk $< >$@
$(foreach sql,$(SQL_STATEMENTS:src/%.sql=%),$(eval $(B)/obj/$(sql).o: $(B)/gen/sql/$(sql).h))

$(B)/gen/field_comments.c: tools/field_comments.awk $(COMMENTED_PROTOS)
	@echo "  GEN     $@"
	$(Q)mkdir -p $(@D)
	$(Q)LC_ALL=C awk -f $< $(COMMENTED_PROTOS) >$@

# One object for all machines of a byte order: fields are found when it is loaded. Debug information but BTF is
# dropped where llvm-strip is there.
$(B)/gen/bpf/%.bpf.o: bpf/%.bpf.c $(wildcard bpf/*.h) Makefile
	@echo "  BPF     $<"
	$(Q)mkdir -p $(@D)
	$(Q)$(CLANG) -target bpf -mcpu=v3 -O2 -g $(PREFIX_MAP) -Wall $(WERROR) -Ibpf -I/usr/include/$(shell $(CC) -print-multiarch) -c -o $@ $<
	$(Q)if command -v llvm-strip >/dev/null; then llvm-strip -g $@; fi

# One that is made again, with other hooks, includes the first.
$(patsubst %.c,$(B)/gen/%.o,$(wildcard bpf/*_raw.bpf.c)): $(B)/gen/bpf/%_raw.bpf.o: bpf/%.bpf.c
$(patsubst %.c,$(B)/gen/%.o,$(wildcard bpf/*_tp.bpf.c)): $(B)/gen/bpf/%_tp.bpf.o: bpf/%.bpf.c
$(patsubst %.c,$(B)/gen/%.o,$(wildcard bpf/*_calls.bpf.c)): $(B)/gen/bpf/%_calls.bpf.o: bpf/%.bpf.c

# The page of sonda diff --html, in the same form.
DIFF_PAGE := src/cli/diff/diff_page
DIFF_PAGE_PARTS := $(DIFF_PAGE).html $(DIFF_PAGE).css $(PAGE)/numbers.js src/cli/diff/timelines.js $(DIFF_PAGE).js
$(B)/gen/diff_page/before.html: tools/page_parts.sh $(DIFF_PAGE_PARTS) $(B)/gen/page/before.html
	@echo "  GEN     $(@D)"
	$(Q)INNER=$(B)/gen/page tools/page_parts.sh $(@D) $(DIFF_PAGE_PARTS)
$(B)/gen/diff_page/parts.S: SYMBOL := diff_page
$(B)/gen/page/before.html: tools/page_parts.sh $(PAGE)/page.html $(PAGE)/page.css $(PAGE_JS)
	@echo "  GEN     $(@D)"
	$(Q)tools/page_parts.sh $(@D) $(PAGE)/page.html $(PAGE)/page.css $(PAGE_JS)
$(B)/gen/page/parts.S: SYMBOL := page
$(B)/gen/page/parts.S $(B)/gen/diff_page/parts.S: %/parts.S: %/before.html
	$(Q)for part in before after; do \
		echo ".section .rodata; .global $(SYMBOL)_$$part, $(SYMBOL)_$${part}_end"; \
		echo "$(SYMBOL)_$$part: .incbin \"$*/$$part.html\""; \
		echo "$(SYMBOL)_$${part}_end:"; \
	done >$@
	$(Q)echo '.section .note.GNU-stack,"",%progbits' >>$@
$(B)/gen/page/parts.o $(B)/gen/diff_page/parts.o: %.o: %.S
	$(Q)$(CC) -c -o $@ $<

$(B)/gen/bpf/objects.S: $(BPF_O)
	@echo "  GEN     $@"
	$(Q)for o in $(notdir $(BPF_SRC:.bpf.c=)); do \
		echo ".section .rodata; .balign 8; .global ebpf_object_$$o, ebpf_object_$${o}_end"; \
		echo "ebpf_object_$$o: .incbin \"$(B)/gen/bpf/$$o.bpf.o\""; \
		echo "ebpf_object_$${o}_end:"; \
	done >$@
	$(Q)echo '.section .note.GNU-stack,"",%progbits' >>$@
$(B)/gen/bpf/objects.o: $(B)/gen/bpf/objects.S
	$(Q)$(CC) -c -o $@ $<

# What libsonda-service has in it, too. In a program the linker makes the same of it as of -fPIE.
$(foreach l,base wire config service,$(B)/obj/$(l)/%.o) $(B)/gen/pb/%.o: PIE := -fPIC -fvisibility=hidden

$(B)/gen/%.o: $(B)/gen/%.c $(GEN_HEADERS)
	$(Q)$(CC) $(CFLAGS_ALL) -O1 -w -c -o $@ $<

$(B)/obj/%.o: src/%.c $(GEN_HEADERS) Makefile
	@echo "  CC      $<"
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) $(CFLAGS_ALL) $(WARN) -MMD -MP -c -o $@ $<

# The sizes in these are constants and the destination is unknown to the compiler, so FORTIFY_SOURCE checks nothing; but
# its wrappers keep the loop over an event's fields from being inlined (5 % more instructions an event).
$(B)/obj/ftrace/encode/event_encode.o: FORTIFY =

# A file that has moved to another directory is no member any more: the list of members changes, and the library is made anew.
define layer_rule
$(B)/lib$(1).members: FORCE
	@mkdir -p $$(@D) && echo $(call layer_obj,$(1)) | cmp -s - $$@ || echo $(call layer_obj,$(1)) >$$@
$(B)/lib$(1).a: $(call layer_obj,$(1)) $(2) $(B)/lib$(1).members
	@echo "  AR      $$@"
	$$(Q)mkdir -p $$(@D) && rm -f $$@ && $$(AR) rcs $$@ $$(filter %.o,$$^)
endef
FORCE:
$(foreach l,$(filter-out config ftrace ebpf analyze cli,$(LAYERS)),$(eval $(call layer_rule,$(l),)))
$(eval $(call layer_rule,config,$(PB_O)))
$(eval $(call layer_rule,ftrace,$(GEN_FTRACE)))
$(eval $(call layer_rule,ebpf,$(GEN_EBPF)))
$(eval $(call layer_rule,analyze,$(GEN_ANALYZE)))
$(eval $(call layer_rule,cli,$(GEN_CLI)))

# libsonda, the library for any program: position-independent objects of its own, and of the layers below only what it
# needs. It links the C library alone. libsonda.a is one object, so that hidden functions cannot meet the program's.
LIB_SRC := $(wildcard src/lib/*.c src/lib/*/*.c) $(filter-out %/system_info.c,$(wildcard src/wire/*.c)) $(wildcard src/base/core/*.c) \
	src/base/text/str.c src/base/text/str_number.c src/base/system/file_watch.c src/base/system/shm.c src/base/event_loop/sock.c src/base/system/sock_io.c \
	src/client/loop/io_loop.c $(wildcard src/client/transport/*.c) \
	$(addprefix src/client/producer/,service_link.c service_producer.c)
LIB_OBJ := $(LIB_SRC:src/%.c=$(B)/pic/%.o)
LIB_CFLAGS = $(CFLAGS_ALL) -Iinclude -fPIC -fvisibility=hidden
LIB_LDFLAGS = $(SAN_FLAGS) -Wl,--gc-sections,--as-needed,-z,relro,-z,now,-z,noexecstack,-z,nodelete,-Bsymbolic-functions $(if $(SAN),,-Wl,-z,defs) $(LDFLAGS)

$(B)/pic/%.o: src/%.c $(GEN_HEADERS) Makefile
	@echo "  PIC     $<"
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) $(LIB_CFLAGS) $(WARN) -MMD -MP -c -o $@ $<

$(B)/lib/libsonda.so.0: $(LIB_OBJ) src/lib/libsonda.map
	@echo "  LD      $@"
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) $(LIB_LDFLAGS) -shared -Wl,-soname,libsonda.so.0 -Wl,--version-script=src/lib/libsonda.map -o $@ $(LIB_OBJ)
$(B)/lib/%.so: $(B)/lib/%.so.0
	$(Q)ln -sf $(<F) $@
$(B)/lib/libsonda.a: $(LIB_OBJ)
	@echo "  AR      $@"
	$(Q)mkdir -p $(@D) && rm -f $@
	$(Q)$(LD) -r -o $(B)/lib/libsonda.o $(LIB_OBJ)
	$(Q)$(OBJCOPY) --localize-hidden $(B)/lib/libsonda.o
	$(Q)$(AR) rcs $@ $(B)/lib/libsonda.o && rm $(B)/lib/libsonda.o

# libsonda-service, the service in a program: the objects of sondad that it needs, behind src/embed. libsonda-service.a is
# one object, too.
EMBED_OBJ := $(patsubst src/%.c,$(B)/pic/%.o,$(wildcard src/embed/*.c))
EMBED_LIBS := $(foreach l,service $(NEED_service),$(B)/lib$(l).a)
$(B)/lib/libsonda-service.so.0: $(EMBED_OBJ) $(EMBED_LIBS) src/embed/libsonda-service.map
	@echo "  LD      $@"
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) $(LIB_LDFLAGS) -shared -Wl,-soname,$(@F) -Wl,--version-script=src/embed/libsonda-service.map -o $@ \
		$(EMBED_OBJ) $(EMBED_LIBS) $(call syslibs,service)
$(B)/lib/libsonda-service.a: $(EMBED_OBJ) $(EMBED_LIBS)
	@echo "  AR      $@"
	$(Q)mkdir -p $(@D) && rm -f $@
	$(Q)$(LD) -r -o $(@:.a=.o) $(EMBED_OBJ) $(EMBED_LIBS)
	$(Q)$(OBJCOPY) --localize-hidden $(@:.a=.o)
	$(Q)ar rcs $@ $(@:.a=.o) && rm $(@:.a=.o)

define program_rule
$(B)/bin/$(1): $(B)/obj/$(2)/main.o $(call libs,$(2))
	@echo "  LD      $$@"
	$$(Q)mkdir -p $$(@D)
	$$(Q)$$(CC) $$(LDFLAGS_ALL) -o $$@ $$^ $(call syslibs,$(2))
endef
$(eval $(call program_rule,sondad,service))
$(eval $(call program_rule,sonda-probes,probes))
$(eval $(call program_rule,sonda-relay,relay))
$(eval $(call program_rule,sonda,cli))

# ---- one static program --------------------------------------------------------------------------

# Of each program one object, in which only its main() is visible, under a name of its own: layers of two programs may
# have functions of one name.
define static_rule
$(B)/static/$(2).o: $(B)/obj/$(2)/main.o $(B)/lib$(2).a
	@echo "  LD      $$@"
	$$(Q)mkdir -p $$(@D)
	$$(Q)$$(LD) -r -o $$@ $$< --whole-archive $(B)/lib$(2).a
	$$(Q)$$(OBJCOPY) --redefine-sym main=$(3)_main $$@
	$$(Q)$$(OBJCOPY) --keep-global-symbol=$(3)_main $$@
endef
$(eval $(call static_rule,sondad,service,sondad))
$(eval $(call static_rule,sonda-probes,probes,sonda_probes))
$(eval $(call static_rule,sonda-relay,relay,sonda_relay))
$(eval $(call static_rule,sonda,cli,sonda))

STATIC_LIBS = $(foreach l,$(filter-out service relay probes cli,$(LAYERS)),$(B)/lib$(l).a)
STATIC_PKGS := $(PKGS) libevent_extra zlib libzstd sqlite3 libedit libmd json-c $(if $(filter yes,$(EBPF)),libbpf) libelf liblzma
$(B)/static/libelf_search_tree.a: $(B)/obj/multicall/libelf_search_tree.o
	$(Q)mkdir -p $(@D) && rm -f $@ && $(AR) rcs $@ $<
# libelf.a of elfutils 0.195 (Debian sid) defines a crc32() beside that of zlib.
$(B)/static/libelf.a:
	$(Q)mkdir -p $(@D) && $(OBJCOPY) --redefine-sym crc32=libelf_crc32 "$$($(CC) -print-file-name=libelf.a)" $@

# The linker names functions that need shared libraries for users and hosts in other places than files.
$(B)/static/sonda: $(B)/obj/multicall/main.o $(B)/static/cli.o $(B)/static/service.o $(B)/static/probes.o $(B)/static/relay.o $(STATIC_LIBS) $(B)/static/libelf_search_tree.a $(B)/static/libelf.a
	@echo "  LD      $@"
	$(Q)$(CC) -L$(@D) $(filter-out -pie,$(LDFLAGS_ALL)) -static-pie -s $(call linker_has,-Wl,--no-warnings) -o $@ \
		$(filter %.o,$^) -Wl,--start-group $(STATIC_LIBS) $(shell $(PKG_CONFIG) --static --libs $(STATIC_PKGS)) $(B)/static/libelf_search_tree.a -liberty -lm -Wl,--end-group
static: $(B)/static/sonda ## build/static/sonda, the programs as one file that needs no library

# ---- the manual ----------------------------------------------------------------------------------

HELP_FROM ?= $(B)/bin
$(B)/man/stamp: $(PROGRAMS) $(wildcard tools/manual/*) $(PROTOS) README.md $(wildcard docs/*/*.md include/sonda/*.h)
	@echo "  MAN     $(@D)"
	$(Q)$(if $(SAN),$(NO_ASLR)) tools/manual/manual.sh $(HELP_FROM) $(@D)
	$(Q)$(if $(SAN),$(NO_ASLR)) tools/manual/completion.sh $(HELP_FROM) $(B)/completion
	$(Q)touch $@
man: $(MANUAL)

# ---- tests ---------------------------------------------------------------------------------------

# A unit test links its own layer and those below, and may replace functions of theirs by its own; the fake service of some
# tests has the sockets of the real one. A test helper links everything.
FAKE_client := $(B)/libservice.a
FAKE_cli := $(B)/libservice.a
ALL_LIBS := $(foreach l,cli import analyze probes ftrace stacks procfs ebpf symbols subjects relay service client config wire base,$(B)/lib$(l).a)
ALL_SYSLIBS := $(foreach l,$(LAYERS),$(LIBS_$(l))) -lprotobuf-c

define unit_rule
$(B)/tests/unit/$(1)/%: $(B)/tests/unit/$(1)/%.o $(FAKE_$(1)) $(call libs,$(1))
	@echo "  TEST    $$@"
	$$(Q)$$(CC) $$(LDFLAGS_ALL) -Wl,--allow-multiple-definition -o $$@ $$< $(FAKE_$(1)) $(call libs,$(1)) -lcmocka $(call syslibs,$(1))
endef
$(foreach l,$(LAYERS),$(eval $(call unit_rule,$(l))))
# Of the library, with its hidden functions.
$(B)/tests/unit/lib/%: $(B)/tests/unit/lib/%.o $(LIB_OBJ)
	@echo "  TEST    $@"
	$(Q)$(CC) $(LDFLAGS_ALL) -Wl,--allow-multiple-definition -o $@ $< $(LIB_OBJ) -lcmocka -pthread

$(HELPERS): $(B)/%: $(B)/%.o $(ALL_LIBS)
	@echo "  TEST    $@"
	$(Q)$(CC) $(LDFLAGS_ALL) -o $@ $< $(ALL_LIBS) $(ALL_SYSLIBS)

# Programs of tests/library and bench/library see the public headers and the library only, each as C and linked with the shared library.
LIBRARY_TESTS := $(patsubst %.c,$(B)/%,$(wildcard tests/library/*.c bench/library/*.c))
$(LIBRARY_TESTS): $(B)/%: %.c $(wildcard tests/library/*.h include/sonda/*.h) $(LIBSONDA) Makefile
	@echo "  TEST    $@"
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) -std=gnu11 -O2 -g $(SAN_FLAGS) $(WARN) -Iinclude -o $@ $< -L$(B)/lib -Wl,--as-needed -lsonda -lsonda-service -Wl,-rpath,'$$ORIGIN/../../lib' -pthread $(LDFLAGS)

LIBRARY_PLUGINS := $(patsubst %.c,$(B)/%.so,$(wildcard tests/library/plugin/*.c))
$(LIBRARY_PLUGINS): $(B)/%.so: %.c $(wildcard tests/library/*.h include/sonda/*.h) $(LIBSONDA) Makefile
	@echo "  TEST    $@"
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) -std=gnu11 -O1 -g -fPIC -fvisibility=hidden -shared $(SAN_FLAGS) $(WARN) -Iinclude -o $@ $< $(B)/lib/libsonda.a -pthread $(LDFLAGS)

# What a test loads before a program of its own.
PRELOADS := $(patsubst %.c,$(B)/%.so,$(wildcard tests/system/preload/*.c))
$(PRELOADS): $(B)/%.so: %.c $(wildcard tests/system/*.h) Makefile
	@echo "  TEST    $@"
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) -std=gnu11 -D_GNU_SOURCE -O1 -g -fPIC -shared $(WARN) -o $@ $<

$(REPLAYS): $(B)/tests/fuzz/replay_%: $(B)/tests/fuzz/fuzz_%.o $(B)/tests/fuzz/replay.o $(ALL_LIBS)
	@echo "  TEST    $@"
	$(Q)$(CC) $(LDFLAGS_ALL) -o $@ $^ $(ALL_SYSLIBS)

# There are many unit tests and each runs for milliseconds: compiled without optimization they are built in a third of the
# time. What they link is as in the programs.
$(B)/tests/unit/%.o: OPT := $(patsubst -O2,-O0,$(OPT))
# Its stacks are what a test expects.
$(B)/tests/root/hot_functions.o $(B)/tests/root/known_waits.o: CFLAGS_ALL += -fno-omit-frame-pointer
$(B)/tests/%.o: tests/%.c $(GEN_HEADERS) Makefile
	@echo "  CC      $<"
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) $(CFLAGS_ALL) $(WARN) -Itests -Iinclude -MMD -MP -c -o $@ $<
$(B)/bench/%.o: bench/%.c $(GEN_HEADERS) Makefile
	@echo "  CC      $<"
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) $(CFLAGS_ALL) $(WARN) -MMD -MP -c -o $@ $<

# Sanitizers map memory at places of their own, where a kernel with vm.mmap_rnd_bits above 28 may have put something.
NO_ASLR = $(shell setarch -R true 2>/dev/null && echo setarch -R)

##@ Test
check: deps-check ## install what is missing, build, run the tests that this machine allows, in minutes
	+$(Q)$(SUBMAKE) programs tests
	$(Q)tests/run.sh $(B)
check-long: deps deps-cost ## what takes longer: the root tests on Debian's kernels in an emulator, long runs, unit and system tests with sanitizers
	+$(Q)$(SUBMAKE) programs tests static
	$(Q)tests/run.sh $(B) long heavy kernels
	+$(Q)$(SUBMAKE) asan KINDS='unit fuzz system'
# Of the guests the oldest and the newest kernel: make check-kernels has those between, 6.1 and 6.12.
check-all: deps deps-cost ## check and check-long side by side, without sanitizers and heavy tests, with the guests of the oldest and the newest kernel
	+$(Q)$(SUBMAKE) programs tests static
	$(Q)GUESTS='5.10 newest' tests/run.sh $(B) rules unit fuzz system root interop long kernels
release-check: ## all checks of a release on this commit, with a line for each; skips those that are green (STEPS, AGAIN=1); as root; hours
	$(Q)tools/release_check.sh $(B) $(STEPS)
check-distros: ## make demo, make check and make static in clean chroots of Debian 12, 13 and sid (or DISTROS='...'), as root
	$(Q)tools/deps.sh $(DISTRO_TEST_PACKAGES)
	$(Q)tests/distros/run.sh $(DISTROS)
check-packages: ## make deb, install and purge them in clean chroots and booted guests of Debian 12, 13 and sid (or DISTROS='...'), as root
	$(Q)tools/deps.sh $(DISTRO_TEST_PACKAGES) $(KERNEL_TEST_PACKAGES) e2fsprogs
	$(Q)for release in $(or $(DISTROS),12 13 sid); do \
		debs=$$(mktemp -d) && trap 'rm -rf "$$debs"' EXIT && \
		DEBS=$$debs tests/distros/run.sh $$release -- 'DEB_BUILD_OPTIONS=parallel=$$(nproc) make deb && cp build/deb/*.deb /debs' && \
		DEBS=$$debs tests/distros/run.sh $$release -- tests/distros/installed.sh /debs && \
		tests/distros/booted.sh $$release $$debs || exit; rm -rf "$$debs"; done
check-arm64: ## cross build for arm64, which records in an emulator with Debian's arm64 kernel; as root
	$(Q)tools/deps.sh $(DISTRO_TEST_PACKAGES) $(KERNEL_TEST_PACKAGES) qemu-system-arm
	$(Q)tests/kernels/arm64.sh
clean-kernels: ## remove the kernels that check-long has fetched (some 400 MB, see KERNEL_DIR in tests/kernels/fetch.sh)
	$(Q)tests/kernels/fetch.sh --remove
tests: $(UNIT) $(HELPERS) $(LIBRARY_TESTS) $(LIBRARY_PLUGINS) $(PRELOADS) $(REPLAYS) ## build the tests, run nothing
# The tests of the rows "answers" in the table of owners. All other tests are of recording.
ANSWER_TESTS = $(shell sed -n 's/^| answers |.* | \(.*\) |$$/\1/p' CONTRIBUTING.md | tr -d '`')
check-answers: deps-check ## the part of check that is of reading traces: rules, analyze and its verbs
	+$(Q)$(SUBMAKE) programs tests
	$(Q)TESTS='rules/* $(ANSWER_TESTS)' tests/run.sh $(B)
check-recorder: deps-check ## the other part of check: rules, recording
	+$(Q)$(SUBMAKE) programs tests
	$(Q)OTHER_TESTS='$(ANSWER_TESTS)' tests/run.sh $(B)
unit: $(UNIT) ## only the unit tests
	$(Q)tests/run.sh $(B) unit
interop: deps ## only the 8 cells of {our, Perfetto's} probes x service x consumer
	+$(Q)$(SUBMAKE) programs tests
	$(Q)tests/run.sh $(B) interop
check-kernels: deps ## only the root tests on Debian's kernels, 5.10 to the newest, in an emulator
	+$(Q)$(SUBMAKE) programs tests
	$(Q)tests/run.sh $(B) kernels
# A test that cannot run with a sanitizer is skipped, with the reason. KINDS='unit system' runs only these kinds (tests/run.sh).
SAN_KINDS = $(or $(KINDS),unit fuzz system root interop long)
asan: ## all tests under AddressSanitizer and UBSan (about two hours on two CPUs); KINDS='unit system' runs only these kinds
	+$(Q)$(SUBMAKE) B=$(B)/asan SAN=address,undefined OPT='-O1 -g' programs tests
	$(Q)TEST_TIMEOUT=$(or $(TEST_TIMEOUT),1200) $(NO_ASLR) tests/run.sh $(B)/asan $(SAN_KINDS)
tsan: ## the same under ThreadSanitizer
	+$(Q)$(SUBMAKE) B=$(B)/tsan SAN=thread OPT='-O1 -g' programs tests
	$(Q)TEST_TIMEOUT=$(or $(TEST_TIMEOUT),1200) $(NO_ASLR) tests/run.sh $(B)/tsan $(SAN_KINDS)
coverage: ## line and branch coverage of the unit tests and corpora, by directory; KINDS='unit' runs only this kind
	+$(Q)$(SUBMAKE) B=$(B)/coverage OPT='-O0 -g --coverage' LDFLAGS='--coverage $(LDFLAGS)' programs tests
	$(Q)find $(B)/coverage -name '*.gcda' -delete
	$(Q)tests/run.sh $(B)/coverage $(or $(KINDS),unit fuzz)
	$(Q)tools/coverage.py $(B)/coverage
fuzz: ## every fuzzer for FUZZ_SECONDS (60) under ASan and UBSan, as many at a time as there are CPUs
	+$(Q)$(SUBMAKE) B=$(B)/fuzz CC=$(CLANG) SAN=fuzzer-no-link,address,undefined OPT='-O1 -g' fuzzers
	$(Q)$(NO_ASLR) tests/fuzz/run.sh $(B)/fuzz $(or $(FUZZ_SECONDS),60)
fuzz-live: ## the three programs, with sanitizers, through a proxy that changes all they say; FUZZ_SECONDS (600), root
	+$(Q)$(SUBMAKE) B=$(B)/asan SAN=address,undefined OPT='-O1 -g' programs $(patsubst %,$(B)/asan/tests/fuzz/live/%,proxy asker)
	$(Q)$(NO_ASLR) tests/fuzz/live/run.sh $(B)/asan $(or $(FUZZ_SECONDS),600)
# OSS-Fuzz (tools/oss-fuzz/build.sh) has other engines, which are archives of C++.
LIB_FUZZING_ENGINE ?= -fsanitize=fuzzer
FUZZ_LINKER ?= $(CC)
fuzzers: $(patsubst tests/fuzz/%.c,$(B)/fuzz/%,$(FUZZ_SRC))
$(B)/fuzz/%: $(B)/tests/fuzz/%.o $(ALL_LIBS)
	@echo "  FUZZ    $@"
	$(Q)mkdir -p $(@D)
	$(Q)$(FUZZ_LINKER) $(LDFLAGS_ALL) -o $@ $< $(LIB_FUZZING_ENGINE) $(ALL_LIBS) $(ALL_SYSLIBS)
soak: ## producers that die and consumers that clone, for SECONDS (600)
	+$(Q)$(SUBMAKE) programs $(B)/tests/soak/soak
	$(Q)BUILD=$(B) tests/soak/run.sh $(or $(SECONDS),600)
check-cost: ## only the instruction counts of the hot pieces, by callgrind (bench/cost.sh --update sets them)
	$(Q)tools/deps.sh $(BUILD_PACKAGES) $(COST_PACKAGES)
	+$(Q)$(SUBMAKE) programs $(HELPERS)
	$(Q)BUILD=$(B) bench/cost.sh
check-page: deps-check ## the page of sonda report --html in Chromium, with a trace of 5,000,000 events; installs Chromium
	$(Q)tools/deps.sh $(PAGE_PACKAGES)
	+$(Q)$(SUBMAKE) programs
	$(Q)BUILD=$(B) PAGE_EVENTS=$(or $(EVENTS),5000000) tests/system/test_page_browser.sh
	$(Q)BUILD=$(B) tests/system/test_diff_page.sh
	$(Q)BUILD=$(B) tests/system/test_open_browser.sh
picture: programs ## the picture of README.md, as root with Chromium
	$(Q)mkdir -p docs/images
	$(Q)BUILD=$(B) PICTURE=docs/images/stall.png tests/root/test_readme.sh
bench: programs ## measure against Perfetto in the same run (bench/README.md)
	+$(Q)$(SUBMAKE) $(HELPERS)
	$(Q)bench/run.sh $(B)

##@ Use
demo: deps-build ## record 5 s of this machine's scheduling, and say where the trace is
	+$(Q)$(SUBMAKE) programs
	$(Q)tools/demo.sh $(B)

install: programs ## into $(DESTDIR)$(PREFIX)
	$(Q)tools/install.sh install $(B) "$(DESTDIR)" "$(PREFIX)" "$(LIBDIR)"
deb: ## Debian packages of these sources into build/deb, checked by lintian; without the unit tests
	$(Q)tools/deps.sh $(BUILD_PACKAGES) $(EBPF_PACKAGES) $(DEB_PACKAGES)
	$(Q)tools/deb.sh $(B)
dist: ## the committed sources as build/dist/sonda-VERSION.tar.gz with its checksum
	$(Q)tools/dist.sh $(B)
uninstall: ## remove what install put there
	$(Q)tools/install.sh uninstall $(B) "$(DESTDIR)" "$(PREFIX)" "$(LIBDIR)"

##@ Develop
format: ## clang-format over all C
	$(Q)clang-format -i $$(git ls-files '*.c' '*.h')
lint: $(GEN_HEADERS) ## clang-format, clang-tidy, shellcheck and the rules of the directories
	$(Q)BUILD=$(B) tools/lint.sh
# clang-tidy takes seconds for a file. One that passed is checked again after its object was compiled again.
TIDY := $(patsubst src/%.c,$(B)/tidy/%,$(wildcard src/*/*.c src/*/*/*.c src/*/*/*/*.c))
tidy: $(TIDY)
define tidy_rule
$(B)/tidy/$(1)%: $(B)/$(2)/$(1)%.o .clang-tidy
	@echo "  TIDY    src/$(1)$$*.c"
	$$(Q)mkdir -p $$(@D)
	$$(Q)clang-tidy -p . --quiet src/$(1)$$*.c 2>/dev/null
	$$(Q)touch $$@
endef
$(eval $(call tidy_rule,,obj))
$(eval $(call tidy_rule,lib/,pic))
$(eval $(call tidy_rule,embed/,pic))
compdb: $(GEN_HEADERS) ## write compile_commands.json for clangd and editors
	$(Q)$(MAKE) --no-print-directory -Bnk V=1 B=$(B) programs tests 2>/dev/null | tools/compdb.sh >compile_commands.json
	@echo "wrote compile_commands.json"
flags: # of the compiler, for tests/rules
	@echo '$(CFLAGS_ALL)'
clean: ## remove everything that was built
	$(Q)rm -rf $(B)
help: ## this list
	@awk 'BEGIN { FS = ":.*## " } /^##@/ { print "\n" substr($$0, 5) } \
		/^[a-z-]+:.*## / { printf "  make %-14s %s\n", $$1, $$2 }' Makefile

.PHONY: FORCE all programs static man deps deps-build deps-check deps-cost check check-answers check-recorder check-long check-all check-distros check-packages check-arm64 check-kernels release-check clean-kernels tests \
	unit interop asan tsan coverage fuzz fuzz-live fuzzers soak check-cost check-page picture bench demo install deb dist uninstall format lint tidy compdb flags clean help

-include $(shell find $(B)/obj $(B)/pic $(B)/tests $(B)/bench -name '*.d' 2>/dev/null)
