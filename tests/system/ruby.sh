# shellcheck shell=bash
# Sourced after lib.sh by tests of Ruby.

# The interpreters that there are, from 2.7 on: version and command, a line each. STACKWIDE_TEST_RUBIES has more, with colons
# between them; a command may be of several words, as `chroot /srv/debian ruby`.
list_rubies() {
    local rubies=(/usr/bin/ruby /usr/local/bin/ruby "${RBENV_ROOT:-$HOME/.rbenv}"/versions/*/bin/ruby) more_rubies ruby version
    IFS=: read -ra more_rubies <<<"${STACKWIDE_TEST_RUBIES:-}"
    for ruby in "${rubies[@]}" ${more_rubies[@]+"${more_rubies[@]}"}; do
        # shellcheck disable=SC2086 # it may be several words
        version=$($ruby -e 'print RUBY_ENGINE, " ", RUBY_VERSION[/\A\d+\.\d+/]' 2>/dev/null) || continue
        [[ $version = "ruby "* ]] && echo "${version#ruby } $ruby"
    done
    return 0
}
