#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# usage: SRC=DIR OUT=DIR CC=... CXX=... CFLAGS=... [CXXFLAGS=...] LIB_FUZZING_ENGINE=... [WORK=DIR] build.sh
#
# The build of OSS-Fuzz, which sets these variables. Compiles the repository in SRC/sonda, and puts into OUT every fuzz target
# of tests/fuzz, its corpus as NAME_seed_corpus.zip, and what it needs at run time: machines that run targets have the
# C library only. So the other shared libraries go to OUT/lib, and recorded kernels' events, which fuzz_page reads, to
# OUT/tests/data.
set -eu
cd "$SRC/sonda"
B=${WORK:-$SRC}/sonda-build

# OSS-Fuzz's own clang compiles no BPF programs, the distribution's does. The rpath is one of the old kind, which is valid for
# the libraries of libraries, too.
make -j"$(nproc)" B="$B" EBPF=yes CLANG=/usr/bin/clang OPT= FORTIFY= CC="$CC" CFLAGS="$CFLAGS" FUZZ_LINKER="$CXX" \
  LDFLAGS="${CXXFLAGS:-$CFLAGS} -Wl,--disable-new-dtags,-rpath,'\$\$ORIGIN/lib'" LIB_FUZZING_ENGINE="$LIB_FUZZING_ENGINE" fuzzers

mkdir -p "$OUT/lib"
for source in tests/fuzz/fuzz_*.c; do
  name=$(basename "$source" .c)
  cp "$B/fuzz/$name" "$OUT/"
  python3 -m zipfile -c "$OUT/${name}_seed_corpus.zip" "tests/fuzz/corpus/${name#fuzz_}"/*
done
ldd "$OUT"/fuzz_* 2>/dev/null | awk '$2 == "=>" && $3 ~ /^\// { print $3 }' | sort -u |
  grep -vE '/lib(c|m|dl|rt|pthread|resolv)\.so' | xargs -r cp -L -t "$OUT/lib"
cp -r --parents tests/data/ftrace/mix tests/data/ftrace/sched tests/data/ftrace/syscalls tests/data/calls "$OUT"
