# shellcheck shell=bash
# Sourced after lib.sh by tests of programs at whose exec the kernel stops monitoring the task, as
# it would have to for a user without rights: they get others' rights, or may not be read.

# Executed with the temporary folder as the current one, for nobody may not pass the ones above it.
chmod 711 "$TMPDIR"
case ,$(findmnt -no OPTIONS -T "$TMPDIR"), in
*,nosuid,*) skip "the temporary folder is on a file system that is mounted nosuid" ;;
esac
cd "$TMPDIR" || exit
# By way of a shell, whose execution drops the capabilities that setpriv keeps.
# shellcheck disable=SC2016 # the inner shell is to expand it
as_nobody=(setpriv --reuid=65534 --regid=65534 --clear-groups sh -c 'exec "$@"' -)

# A copy of a workload that runs as another user.
# make_set_user_id WORKLOAD NAME
make_set_user_id() {
    cp "$WORKLOADS/$1" "$2"
    chown 65534 "$2"
    chmod 4755 "$2"
}

# The stacks of a program that is burn lead up to its main function, and the parts of a second have
# the shares that they should.
# expect_whole FILE NAME
expect_whole() {
    expect_frame "$1" "$2" 30
    expect_near "share of main in $2" "$(folded_share "$1" main "$2")" 97 3
    grep "^$2;" "$1" >own.folded
    expect_share own.folded burn_60 main 60
    expect_near "share of [unknown] in $2" "$(folded_share "$1" '[unknown]' "$2")" 0 0.5
}

# Walked by the sampling program while they ran, most of them, and not afterwards: that is not done
# for all when there are many. Of a recording of this program alone: others may be beginning as well.
# expect_walked_at_once STATS FILE NAME
expect_walked_at_once() {
    expect_between "stacks that were walked afterwards" "$(stats_get "$1" user_stacks.recovered)" \
        0 $(($(folded_count "$2" "$3") / 2))
}
