# SPDX-License-Identifier: Apache-2.0
#
# Docs and pages of the manual, as installed: the programs are in PATH, samples are below @PREFIX@ and @EXAMPLES@, and
# text that links to sources has no link, the protos of configs are a page of the manual, and how to build is left out.
# tools/install.sh fills in the places.
/^## Install it$/,/^## Read on$/{/^## Read on$/!d}
/^| .*\(CONTRIBUTING\|NEWS\)\.md/d
s|build/bin/||g
s|](\(\.\./\)\{1,2\}configs|](@PREFIX@/share/sonda/configs|g
s|](\(\.\./\)\{1,2\}share/sonda/|](@PREFIX@/share/sonda/|g
s|](\(\.\./\)\{1,2\}include/|](@PREFIX@/include/|g
s|](\(\.\./\)\{1,2\}bpf/sonda_program\.h|](@PREFIX@/include/sonda/sonda_program.h|g
s#](\(\.\./\)\{1,2\}\(examples\|bpf/examples\)/#](@EXAMPLES@/\2/#g
s#\[\([^][]*\)\](\(\.\./\)\{0,2\}\(src\|tests\|bench\|protos\|bpf\|CONTRIBUTING\.md\|SECURITY\.md\|NEWS\.md\|LICENSE\)[^)]*)#\1#g
/^\(|\|\* the fields\)/!s#`\{0,1\}protos/config\(/trace_config\.proto\|/ftrace/ftrace_config\.proto\|/process_stats/process_stats_config\.proto\)\{0,1\}`\{0,1\}\([^/a-z]\|$\)#sonda.cfg(5)\2#g
s#-Ibpf #-I@PREFIX@/include/sonda #g
s#\(^\|[^A-Za-z/.-]\|\\f[BIRP]\)configs/\([a-z_\\-]*\.cfg\)#\1@PREFIX@/share/sonda/configs/\2#g
s#\(^\|[^A-Za-z/.-]\|\\f[BIRP]\)\(examples\|bpf/examples\)/\([a-z_.\\-]*\.[ch]\)#\1@EXAMPLES@/\2/\3#g
s#-Iinclude -Lbuild/lib -lsonda -Wl,-rpath,$PWD/build/lib#$(pkg-config --cflags --libs sonda)#
s#-Iinclude -Lbuild/lib -lsonda -lsonda-service -Wl,-rpath,$PWD/build/lib#$(pkg-config --cflags --libs sonda-service)#
/^ *# (in packages: /d
