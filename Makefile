# stackwide: build, test, install. `make help` lists the targets.
#
#   O=DIR        build folder (default build)     V=1              show the commands
#   WERROR=1     warnings are errors              SAN=address,undefined   sanitizers
#   COVERAGE=1   gcov instrumentation             CC= CLANG= BPFTOOL= PROTOC=   the tools
#   PREFIX=/usr/local  SYSCONFDIR=/etc  DESTDIR=  where `make install` puts things
#   ZSHDIR=PREFIX/share/zsh/site-functions        completions of zsh: distributions differ

VERSION := 0.1.0
O       ?= build
# Generated files that do not depend on CC: BPF skeletons, messages, the page. A second build can share those of the first.
G       ?= $(O)
# By one name, however it is given: dependency files hold it.
override G := $(patsubst $(CURDIR)/%,%,$(abspath $(G)))
PREFIX  ?= /usr/local
SYSCONFDIR ?= /etc
ZSHDIR  ?= $(PREFIX)/share/zsh/site-functions
CC      ?= cc
CLANG   ?= clang
PROTOC  ?= protoc-c
BPFTOOL ?= $(shell PATH="$$PATH:/usr/sbin:/sbin" command -v bpftool)
PKGCONF ?= pkg-config
Q       := $(if $(V),,@)
# Printed by make itself: a process for each line of it would take seconds of a build.
say      = $(if $(V),,$(info $(space)$(space)$(1) $(2)))
space    := $() $()
# The folder of a target: most are there already, and the shell itself sees that.
IN_FOLDER = { test -d $(@D) || mkdir -p $(@D); } &&

ARCH      := $(shell uname -m | sed 's/x86_64/x86/; s/aarch64/arm64/')
LIBRARIES := libbpf libelf libdw liblz4 liblzma libprotobuf-c libseccomp libzstd zlib
WARNINGS  := -Wall -Wextra -Wshadow -Wstrict-prototypes -Wmissing-prototypes \
	-Wold-style-definition -Wvla -Wformat=2 -Wpointer-arith -Wwrite-strings -Wundef \
	-Wcast-qual -Wimplicit-fallthrough -fno-common \
	$(if $(findstring clang,$(CC)),,-Wduplicated-cond -Wlogical-op) $(if $(WERROR),-Werror)
INSTRUMENT := $(if $(SAN),-fsanitize=$(SAN) -fno-sanitize-recover=all) $(if $(COVERAGE),--coverage)
CFLAGS  ?= -O2 -g
ALL_CFLAGS = -std=gnu17 $(CFLAGS) $(WARNINGS) -fno-omit-frame-pointer -D_GNU_SOURCE -MD -MP \
	-DSTACKWIDE_VERSION='"$(VERSION)"' -Iinclude -Isrc -I$(G)/include -isystem $(G)/bpf -isystem $(G)/proto $(INSTRUMENT) \
	$(PACKAGE_CFLAGS) $(EXTRA)
# Asked for once, when the first file is compiled.
PACKAGE_CFLAGS = $(eval PACKAGE_CFLAGS := $$(shell $$(PKGCONF) --cflags $$(LIBRARIES)))$(PACKAGE_CFLAGS)
PACKAGE_LIBS = $(eval PACKAGE_LIBS := $$(shell $$(PKGCONF) --libs $$(LIBRARIES)))$(PACKAGE_LIBS)
LDLIBS  = $(PACKAGE_LIBS) -lbz2 -liberty -lpthread -lm
BPF_CFLAGS = -std=gnu17 -O2 -g -target bpf -D__TARGET_ARCH_$(ARCH) -Wall -Wextra -Wno-unused-parameter \
	$(if $(WERROR),-Werror) -Iinclude -Ibpf -MD -MP

SOURCES    := $(sort $(filter-out src/viewer/wasm/% src/formats/without_libraries/% src/base/static/%,$(wildcard src/*/*.c src/*/*/*.c src/*/*/*/*.c)))
OBJECTS    := $(SOURCES:%.c=$(O)/%.o)
LIBRARY    := $(O)/libstackwide.a
SKELETONS  := $(patsubst %.bpf.c,$(G)/%.skel.h,$(wildcard bpf/*.bpf.c))
# Messages of foreign formats, generated from src/formats/NAME/NAME.proto.
PROTOS     := $(patsubst %.proto,$(G)/proto/%.pb-c,$(notdir $(wildcard src/formats/*/*.proto)))
# Topics of `stackwide help`.
DOCUMENTS  := $(wildcard packaging/docs/*.md)
# Files that a source includes as one C string: svg/style.css as svg_style_css, a topic as help_NAME_md.
EMBEDDED   := $(patsubst src/%,$(G)/include/%.h,$(wildcard src/formats/*/*.js src/formats/*/*.css)) \
	$(patsubst packaging/docs/%,$(G)/include/cli/help/%.h,$(DOCUMENTS))
GENERATED  := $(SKELETONS) $(PROTOS:=.h) $(EMBEDDED)
UNIT_TESTS := $(patsubst %.c,$(O)/%,$(wildcard tests/unit/*/test_*.c))
# Fuzz targets, in the build folder of a clang with SAN=fuzzer-no-link,address,undefined. The linker lists the
# objects of each in NAME.linked, from which tests/fuzz/run learns which targets a change concerns.
FUZZERS    := $(patsubst %.c,$(O)/%,$(wildcard tests/fuzz/fuzz_*.c))
FUZZ_BUILD  = O=$(O)/fuzz G=$(G) CC=$(CLANG) SAN=fuzzer-no-link,address,undefined
# The programs that system tests record: never sanitized; with frame pointers, but for nofp_*.
WORKLOADS  := $(patsubst %,$(O)/%,$(basename $(filter-out %/plugin_a.c %/plugin_b.c %/nofp_swapped_a.c %/nofp_swapped_b.c %/elf_calls.c %/compat.c %/wrapper.c, \
	$(wildcard tests/workloads/*.c tests/workloads/*.cc tests/workloads/hostile/*.c))) \
	$(addprefix tests/workloads/,deep_static nofp_deep_static allocations_static compat_fp compat_nofp plugin_a.so plugin_b.so nofp_swapped_a.so nofp_swapped_b.so elf_calls.so allocations_with \
	$(addprefix wrapper_,$(addsuffix .so,calls again asks_more jumps jumps_for_more helps helps_and_jumps))))
WORKLOAD_FRAMES = -fno-omit-frame-pointer
$(O)/tests/workloads/nofp_%: WORKLOAD_FRAMES = -fomit-frame-pointer
$(O)/tests/workloads/nofp_drap: WORKLOAD_FRAMES = -fomit-frame-pointer -O3
$(O)/tests/workloads/nofp_untouched $(O)/tests/workloads/nofp_huge: WORKLOAD_FRAMES = -fomit-frame-pointer -fno-stack-clash-protection
$(O)/tests/workloads/hostile/endless_debug_info: WORKLOAD_FRAMES = -fno-omit-frame-pointer -g0
$(O)/tests/workloads/hostile/fake_python $(O)/tests/workloads/hostile/fake_php $(O)/tests/workloads/hostile/fake_v8 $(O)/tests/workloads/hostile/fake_hotspot: WORKLOAD_FRAMES = -fno-omit-frame-pointer -rdynamic
$(O)/tests/workloads/nofp_undescribed: WORKLOAD_FRAMES = -fomit-frame-pointer -fno-asynchronous-unwind-tables -fno-unwind-tables -g0
WORKLOAD_FLAGS = -O2 -g $(WORKLOAD_FRAMES) -D_GNU_SOURCE \
	-fno-optimize-sibling-calls $(if $(findstring clang,$(CC)),,-fno-ipa-icf) -MD -MP -MF $@.d
# Example programs that write zones; also as C++, and with zones disabled.
PROGRAMS   := $(foreach p,$(patsubst %.c,$(O)/%,$(wildcard tests/programs/*.c)),$p $p.disabled) \
	$(patsubst %.cc,$(O)/%,$(wildcard tests/programs/*.cc))
# The viewer's core: rooms that do no I/O, as WebAssembly, but for formats that need libraries.
# Without the tools for it the program has no viewer.
WASI_INCLUDE ?= $(firstword $(wildcard /usr/include/wasm32-wasi /usr/share/wasi-sysroot/include))
WASM_LD     := $(shell command -v wasm-ld || command -v wasm-ld-14)
WASM_RUNTIME := $(wildcard $(shell $(CLANG) --target=wasm32-wasi -print-libgcc-file-name 2>/dev/null))
VIEWER      := $(if $(WASI_INCLUDE),$(if $(WASM_LD),$(if $(WASM_RUNTIME),$(G)/viewer.html)))
WASM_LACKS  := src/viewer/page.c $(addprefix src/formats/,gzip_sink.c perf/read_data_compressed.c \
	$(addprefix compression/,bzip2.c decompressor.c gzip.c lz4.c sink.c xz.c zstd.c) \
	perfetto/read/compressed.c perfetto/write%.c pprof/write%.c)
WASM_BASE   := array error hash heap json script_name table_format text utf8
WASM_SOURCES := $(sort $(filter-out $(WASM_LACKS),$(patsubst %,src/base/%.c,$(WASM_BASE)) \
	$(wildcard $(patsubst %,src/%/*.c,profile timeline analysis formats formats/* formats/*/* viewer viewer/wasm))))

WASM_OBJECTS := $(WASM_SOURCES:%.c=$(G)/wasm/%.o)
# Most readers are many and short of work, as the core's entry points are: they are made small, so that the page is.
WASM_SMALL  := src/viewer/wasm/core.c $(filter src/timeline/%,$(WASM_SOURCES)) $(filter-out src/formats/folded/% src/formats/native/%,$(filter src/formats/%,$(WASM_SOURCES)))
WASM_CFLAGS  = --target=wasm32-wasi -msimd128 -mbulk-memory -flto -O2 -std=gnu17 -MD -MP \
	-nostdlibinc -isystem $(WASI_INCLUDE) -include src/viewer/wasm/missing.h -D_GNU_SOURCE -DSTACKWIDE_VERSION='"$(VERSION)"' \
	-Iinclude -Isrc -I$(G)/include $(filter-out -Wduplicated-cond -Wlogical-op,$(WARNINGS))
WASM_LDFLAGS := --target=wasm32-wasi -mexec-model=reactor -flto -O2 -Wl,--strip-all -Wl,-z,stack-size=1048576
C_FILES     = $(shell git ls-files -co --exclude-standard '*.c' '*.h' '*.cc')

all: $(O)/stackwide  ## the program, at build/stackwide

$(O)/stackwide: $(O)/src/cli/main.o $(LIBRARY)
	$(call say,LINK    ,$@)
	$(Q)$(CC) $(ALL_CFLAGS) $(LDFLAGS) -o $@ $^ $(LDLIBS)

# One file for every Linux, with all libraries in it. It has its own functions where a static glibc would load others.
STATIC_LIBS = $(shell $(PKGCONF) --static --libs $(LIBRARIES))
STATIC_LDFLAGS := -static-pie -s -Wl,--gc-sections,--wrap=getpwnam,--wrap=getgrouplist,--wrap=dlopen
static: $(O)/stackwide-static  ## one file that runs on any Linux, at build/stackwide-static

$(O)/stackwide-static: $(O)/src/cli/main.o $(O)/src/base/static/c_library.o $(LIBRARY)
	$(call say,LINK    ,$@)
	$(Q)$(CC) $(ALL_CFLAGS) $(LDFLAGS) $(STATIC_LDFLAGS) -o $@ $^ $(STATIC_LIBS) -lbz2 -liberty -lpthread -lm

$(LIBRARY): $(filter-out $(O)/src/cli/main.o,$(OBJECTS)) $(PROTOS:$(G)/%=$(O)/%.o)
	$(call say,AR      ,$@)
	$(Q)rm -f $@ && ar rcsT $@ $^

$(WASM_SMALL:%.c=$(G)/wasm/%.o): private WASM_SIZE := -Oz
$(G)/wasm/%.o: %.c | $(EMBEDDED)
	$(call say,WASM    ,$<)
	$(Q)$(IN_FOLDER) $(CLANG) $(WASM_CFLAGS) $(WASM_SIZE) -c -o $@ $<

$(G)/viewer.wasm: $(WASM_OBJECTS)
	$(call say,WASM    ,$@)
	$(Q)$(CLANG) $(WASM_LDFLAGS) -o $@ $^

$(G)/viewer.html: $(G)/viewer.wasm $(wildcard src/viewer/web/*.* src/viewer/web/*/*) scripts/bundle-viewer
	$(call say,PAGE    ,$@)
	$(Q)scripts/bundle-viewer $< src/viewer/web >$@

# The page as the program holds it; empty where it could not be made.
$(G)/viewer.page: $(VIEWER)
	$(Q)$(IN_FOLDER) cat $^ /dev/null >$@
	$(if $(VIEWER),,@echo '  no wasm-ld, wasi-libc or compiler runtime: the program gets no viewer; scripts/install-deps brings them')

$(O)/src/viewer/page.o: $(G)/viewer.page
$(O)/src/viewer/page.o: private EXTRA = -DVIEWER_PAGE='"$(abspath $(G))/viewer.page"'

$(O)/src/%.o: src/%.c | $(GENERATED)
	$(call say,CC      ,$<)
	$(Q)$(IN_FOLDER) $(CC) $(ALL_CFLAGS) -c -o $@ $<

.SECONDEXPANSION:
$(G)/proto/%.pb-c.c $(G)/proto/%.pb-c.h: src/formats/$$*/$$*.proto
	$(call say,PROTO   ,$<)
	$(Q)$(IN_FOLDER) $(PROTOC) --c_out=$(G)/proto --proto_path=$(<D) $<

$(O)/proto/%.pb-c.o: $(G)/proto/%.pb-c.c
	$(call say,CC      ,$<)
	$(Q)$(IN_FOLDER) $(CC) $(filter-out -W%,$(ALL_CFLAGS)) -c -o $@ $<

# EMBED,NAME
EMBED = { echo 'static const char $1[] =' && \
	sed 's/\\/\\\\/g; s/"/\\"/g; s/^/"/; s/$$/\\n"/' $< && echo ';'; } > $@
$(G)/include/%.h: src/%
	$(call say,EMBED   ,$<)
	$(Q)$(IN_FOLDER) $(call EMBED,$(notdir $(*D))_$(subst .,_,$(*F)))

$(G)/include/cli/help/%.md.h: packaging/docs/%.md
	$(call say,EMBED   ,$<)
	$(Q)$(IN_FOLDER) $(call EMBED,help_$*_md)

$(G)/bpf/%.bpf.o: bpf/%.bpf.c
	$(call say,BPF     ,$<)
	$(Q)$(IN_FOLDER) $(CLANG) $(BPF_CFLAGS) -c -o $@ $<

$(G)/bpf/%.skel.h: $(G)/bpf/%.bpf.o
	$(call say,SKEL    ,$@)
	$(Q)$(BPFTOOL) gen skeleton $< name $*_bpf > $@.tmp && mv $@.tmp $@

# BPF programs as functions of a test (tests/unit/bpf/fake_kernel.h), with the warnings of BPF_CFLAGS.
$(O)/tests/unit/bpf/%: private WARNINGS = -Wall -Wextra -Wno-unused-parameter -Wno-unused-function $(if $(WERROR),-Werror) -Ibpf
# Memory that a unit test does not free fails it, if gcc has its leak checker. Address sanitizers look for it themselves.
LEAK_CHECK := $(if $(SAN)$(findstring clang,$(CC)),,$(if $(wildcard $(shell $(CC) -print-file-name=liblsan.so)),-fsanitize=leak))
# For a test of what happens where memory is short (tests/unit/failing_memory.h).
FAILING_ALLOCATIONS := -Wl,--wrap=malloc,--wrap=calloc,--wrap=realloc,--wrap=strdup,--wrap=strndup
FAILING_TESTS = $(eval FAILING_TESTS := $$(shell grep -l '"failing_memory.h"' tests/unit/*/*.c))$(FAILING_TESTS)
FAILING_MEMORY = $(if $(filter $<,$(FAILING_TESTS)),$(FAILING_ALLOCATIONS))
# Compiled and linked quickly: what they test is optimized.
TEST_LINKER := $(if $(shell command -v ld.gold),-fuse-ld=gold)
$(O)/tests/unit/%: tests/unit/%.c $(LIBRARY)
	$(call say,TEST    ,$<)
	$(Q)$(IN_FOLDER) $(CC) $(ALL_CFLAGS) -O0 $(TEST_LINKER) $(LEAK_CHECK) $(FAILING_MEMORY) -Itests/unit -o $@ $< $(LIBRARY) $(LDLIBS) -lcmocka

$(O)/tests/fuzz/%: tests/fuzz/%.c $(LIBRARY)
	$(call say,FUZZ    ,$<)
	$(Q)$(IN_FOLDER) $(CC) $(filter-out -W%,$(ALL_CFLAGS)) -Itests/unit -fsanitize=fuzzer -Wl,--trace -o $@ $< $(LIBRARY) $(LDLIBS) >$@.linked

$(O)/tests/workloads/%: tests/workloads/%.c
	$(call say,WORKLOAD,$<)
	$(Q)$(IN_FOLDER) $(CC) -std=gnu17 $(WORKLOAD_FLAGS) -o $@ $< -lpthread -ldl

$(O)/tests/workloads/%: tests/workloads/%.cc
	$(call say,WORKLOAD,$<)
	$(Q)$(IN_FOLDER) $(CXX) -std=c++17 $(WORKLOAD_FLAGS) -o $@ $<

$(O)/tests/workloads/%.so: tests/workloads/%.c
	$(call say,WORKLOAD,$<)
	$(Q)$(IN_FOLDER) $(CC) -std=gnu17 $(WORKLOAD_FLAGS) -fPIC -shared -o $@ $<

$(O)/tests/programs/%: tests/programs/%.c
	$(call say,PROGRAM ,$<)
	$(Q)$(IN_FOLDER) $(CC) -std=gnu11 $(CFLAGS) $(WARNINGS) -MD -MP -MF $@.d -Iinclude -o $@ $< -pthread

$(O)/tests/programs/%.disabled: tests/programs/%.c
	$(call say,PROGRAM ,$@)
	$(Q)$(IN_FOLDER) $(CC) -std=gnu11 $(CFLAGS) $(WARNINGS) -DSTACKWIDE_ZONES_DISABLED \
		-MD -MP -MF $@.d -Iinclude -o $@ $< -pthread

$(O)/tests/programs/%: tests/programs/%.cc
	$(call say,PROGRAM ,$<)
	$(Q)$(IN_FOLDER) $(CXX) -std=c++11 -Wall -Wextra -Wshadow $(if $(WERROR),-Werror) $(CFLAGS) \
		-MD -MP -MF $@.d -Iinclude -o $@ $(filter %.cc,$^) -pthread

# 32-bit programs; where the compiler makes none, the test that wants them is skipped.
$(O)/tests/workloads/compat_fp: private COMPAT_FRAMES = -fno-omit-frame-pointer
$(O)/tests/workloads/compat_nofp: private COMPAT_FRAMES = -fomit-frame-pointer
$(O)/tests/workloads/compat_fp $(O)/tests/workloads/compat_nofp: tests/workloads/compat.c
	$(call say,WORKLOAD,$@)
	$(Q)$(IN_FOLDER) { $(CC) -m32 -O1 -static -nostdlib -fno-stack-protector -fno-pie -no-pie \
		-fcf-protection=none $(COMPAT_FRAMES) -o $@ $< 2> $@.log || true; }

# Allocators that pass calls on to libc's, to preload and in a program.
$(O)/tests/workloads/wrapper_asks_more.so: private WRAPPER = -DEXTRA=16
$(O)/tests/workloads/wrapper_jumps.so: private WRAPPER = -DJUMPS
$(O)/tests/workloads/wrapper_jumps_for_more.so: private WRAPPER = -DJUMPS -DEXTRA=16
$(O)/tests/workloads/wrapper_helps.so: private WRAPPER = -DHELPS
$(O)/tests/workloads/wrapper_helps_and_jumps.so: private WRAPPER = -DHELPS -DJUMPS -DEXTRA=16
$(O)/tests/workloads/wrapper_%.so: tests/workloads/wrapper.c
	$(call say,WORKLOAD,$@)
	$(Q)$(IN_FOLDER) $(CC) -std=gnu17 $(WORKLOAD_FLAGS) -foptimize-sibling-calls -fno-builtin -fPIC -shared $(WRAPPER) -o $@ $< -ldl

$(O)/tests/workloads/allocations_with: tests/workloads/allocations.c tests/workloads/wrapper.c
	$(call say,WORKLOAD,$@)
	$(Q)$(IN_FOLDER) $(CC) -std=gnu17 $(filter-out -MD -MP -MF $@.d,$(WORKLOAD_FLAGS)) -fno-builtin -DOF_LIBC -o $@ $^ -ldl

# Without a static libc the test that wants it is skipped.
$(O)/tests/workloads/%_static: tests/workloads/%.c
	$(call say,WORKLOAD,$@)
	$(Q)$(IN_FOLDER) { $(CC) -std=gnu17 $(WORKLOAD_FLAGS) -static -o $@ $< 2> $@.log || true; }

unit-tests: $(UNIT_TESTS)
programs: $(PROGRAMS)
test-programs: unit-tests programs $(WORKLOADS)
check: all test-programs  ## build and run every test
	$(Q)O=$(O) tests/run

check-all:  ## what CI runs, at length: all kernels, all packages, every test under sanitizers
	$(Q).ci/run --all

kernels: all test-programs  ## boot other kernels and record there
	$(Q)O=$(O) tests/kernels/run --all

bench: export BENCH_ROWS = $(abspath $(O))/bench.rows
bench: all test-programs  ## measure against perf and FlameGraph, side by side (not a test)
	$(Q)rm -f $(BENCH_ROWS)
	$(Q)O=$(O) tests/bench/formats
	$(Q)O=$(O) tests/bench/imports
	$(Q)O=$(O) tests/bench/diff
	$(Q)O=$(O) tests/bench/history
	$(Q)O=$(O) tests/bench/perf_data
	$(Q)O=$(O) tests/bench/traces
	$(Q)CC="$(CC)" tests/bench/zones
	$(Q)O=$(O) tests/bench/viewer
	$(Q)O=$(O) tests/bench/run
	$(Q)O=$(O) tests/bench/unwinding
	$(Q)O=$(O) tests/bench/memory
	$(Q)O=$(O) tests/bench/runtimes
	$(Q)O=$(O) tests/bench/first_samples
	$(Q)O=$(O) tests/bench/waiting
	$(Q)O=$(O) tests/bench/events
	$(Q)O=$(O) tests/bench/names
	$(Q)O=$(O) tests/bench/completeness
	-$(Q)tests/bench/goals $(BENCH_ROWS)

fuzz-targets: $(FUZZERS)
fuzz:  ## run each fuzz target for FUZZ_SECONDS (20) on its corpus
	$(Q)$(MAKE) --no-print-directory $(FUZZ_BUILD) fuzz-targets
	$(Q)O=$(O)/fuzz tests/fuzz/run

format-check:
	$(Q)clang-format --dry-run -Werror $(C_FILES)

lint: format-check cppcheck  ## rooms, language, formatting, static analysis
	$(Q)scripts/check-rooms
	$(Q)scripts/check-words
	$(Q)scripts/check-commits
	$(Q)scripts/check-web || test $$? = 77

cppcheck:
	$(Q)cppcheck -j$(shell nproc) --quiet --std=c11 --error-exitcode=1 --inline-suppr -Iinclude -Isrc \
		--enable=warning,portability --suppress=missingInclude --suppress=memleak \
		-D__x86_64__ '-D__typeof__(x)=void *' '-DLIBBPF_OPTS(t,n,...)=struct t n' src

format:  ## reformat every C file
	$(Q)clang-format -i $(C_FILES)

# Out of the program's own tables; a target's last part says what `stackwide generate` prints.
COMMANDS  := $(patsubst src/cli/cmd_%.c,%,$(filter-out %/cmd_generate.c %/cmd_unwind_table.c, \
	$(wildcard src/cli/cmd_*.c)))
# Written by hand where there is more to say than the help does.
WRITTEN   := $(patsubst packaging/man/%,$(O)/generated/%,$(wildcard packaging/man/*.1))
MANUALS   := $(sort $(WRITTEN) $(patsubst %,$(O)/generated/stackwide-%.1,$(COMMANDS)))
GENERATED_TEXTS := $(MANUALS) $(patsubst %,$(O)/generated/%,bash zsh fish capture.service cron)

# Topics are pages of section 7; without lowdown they are installed as they are.
TOPIC_MANUALS := $(patsubst packaging/docs/%.md,$(O)/generated/stackwide-%.7,$(DOCUMENTS))
HAS_LOWDOWN := $(shell command -v lowdown)

generated: $(GENERATED_TEXTS) $(if $(HAS_LOWDOWN),$(TOPIC_MANUALS))

$(O)/generated/stackwide-%.7: packaging/docs/%.md scripts/topic-manual
	$(Q)$(IN_FOLDER) scripts/topic-manual $< > $@

# The formats that are written take the place of a comment in the page.
$(WRITTEN): $(O)/generated/%: packaging/man/% $(O)/generated/formats
	$(Q)sed -e '/^\.\\" FORMATS$$/{r $(O)/generated/formats' -e 'd;}' $< > $@

$(O)/generated/stackwide-%.1: $(O)/stackwide
	$(Q)$(IN_FOLDER) $< generate manual $* > $@

# Made each time: PREFIX may be another.
$(O)/generated/capture.service: packaging/systemd/stackwide-capture.service FORCE
$(O)/generated/cron: packaging/cron/stackwide FORCE
$(O)/generated/capture.service $(O)/generated/cron:
	$(Q)$(IN_FOLDER) sed 's,@BINDIR@,$(PREFIX)/bin,g' $< > $@

$(O)/generated/%: $(O)/stackwide
	$(Q)$(IN_FOLDER) $< generate $* > $@

INSTALLED_MANUALS := $(foreach m,$(TOPIC_MANUALS),$(m):$(PREFIX)/share/man/man7/$(notdir $(m)))
INSTALLED_DOCUMENTS := $(foreach d,$(DOCUMENTS),$(d):$(PREFIX)/share/doc/stackwide/$(notdir $(d)))
# FROM:TO of what is installed with mode 644, TO below DESTDIR.
INSTALLED := $(if $(HAS_LOWDOWN),$(INSTALLED_MANUALS),$(INSTALLED_DOCUMENTS)) \
	$(foreach m,$(MANUALS),$(m):$(PREFIX)/share/man/man1/$(notdir $(m))) \
	packaging/man/stackwide-zones.3:$(PREFIX)/share/man/man3/stackwide-zones.3 \
	$(foreach h,$(wildcard include/stackwide/*.h),$(h):$(PREFIX)/$(h)) \
	$(O)/generated/bash:$(PREFIX)/share/bash-completion/completions/stackwide \
	$(O)/generated/zsh:$(ZSHDIR)/_stackwide \
	$(O)/generated/fish:$(PREFIX)/share/fish/vendor_completions.d/stackwide.fish \
	$(O)/generated/capture.service:$(PREFIX)/lib/systemd/system/stackwide-capture.service \
	packaging/systemd/stackwide-capture.timer:$(PREFIX)/lib/systemd/system/stackwide-capture.timer \
	packaging/systemd/tmpfiles.conf:$(PREFIX)/lib/tmpfiles.d/stackwide.conf \
	$(O)/generated/cron:$(SYSCONFDIR)/cron.d/stackwide

install: all generated  ## install below $(DESTDIR)
	install -D -m 755 $(O)/stackwide $(DESTDIR)$(PREFIX)/bin/stackwide
	$(foreach i,$(INSTALLED),install -D -m 644 $(subst :, $(DESTDIR),$(i)) &&) true
	test -e $(DESTDIR)$(SYSCONFDIR)/stackwide/capture.conf || install -D -m 644 \
		packaging/etc/capture.conf $(DESTDIR)$(SYSCONFDIR)/stackwide/capture.conf

uninstall:  ## remove what install put there, and the configuration
	rm -f $(DESTDIR)$(PREFIX)/bin/stackwide $(DESTDIR)$(SYSCONFDIR)/stackwide/capture.conf \
		$(foreach i,$(sort $(INSTALLED) $(INSTALLED_MANUALS) $(INSTALLED_DOCUMENTS)),$(DESTDIR)$(word 2,$(subst :, ,$(i))))
	rmdir $(addprefix $(DESTDIR),$(SYSCONFDIR)/stackwide $(PREFIX)/include/stackwide $(PREFIX)/share/doc/stackwide) 2>/dev/null || true

dist:  ## a source archive of HEAD
	git archive --prefix=stackwide-$(VERSION)/ -o stackwide-$(VERSION).tar.gz HEAD

clean:  ## remove the build folder
	rm -rf $(O)

help:  ## this list
	@sed -n 's/^\([a-z-]*\):.*## /\1\t/p' Makefile | expand -t 14
	@sed -n '3,6s/^# *//p' Makefile

-include $(OBJECTS:.o=.d) $(WASM_OBJECTS:.o=.d) $(UNIT_TESTS:=.d) $(SKELETONS:.skel.h=.bpf.d) $(FUZZERS:=.d) \
	$(WORKLOADS:=.d) $(PROGRAMS:=.d)
.PHONY: FORCE all static unit-tests programs test-programs check check-all kernels bench fuzz fuzz-targets format-check cppcheck lint format generated install uninstall dist clean help
# Made on the way to others, and kept. Without names, a header that is gone would make nothing anew.
.SECONDARY: $(SKELETONS) $(SKELETONS:.skel.h=.bpf.o) $(PROTOS:=.h) $(PROTOS:=.c) $(EMBEDDED)
.DELETE_ON_ERROR:
