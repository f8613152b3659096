# shellcheck shell=bash
# Sourced after lib.sh by tests of Perl.

# The interpreters that there are whose frames are known: version and command, a line each. STACKWIDE_TEST_PERLS has more
# commands, with colons between them: of a folder of another system, for one, with chroot.
list_perls() {
    local perls=(/usr/bin/perl) more_perls perl version
    IFS=: read -ra more_perls <<<"${STACKWIDE_TEST_PERLS:-}"
    for perl in "${perls[@]}" ${more_perls[@]+"${more_perls[@]}"}; do
        # shellcheck disable=SC2086 # a command has words
        version=$($perl -MConfig -e 'printf "%vd", $^V if $Config{useithreads}' 2>/dev/null) || continue
        case $version in
        5.3[2468].* | 5.40.*) echo "${version%.*} $perl" ;;
        esac
    done
}
